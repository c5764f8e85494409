"""Brings the foreign clients, Python packages and npm packages, all pinned, all kept in a cache folder.

A registry that can't be reached is no fault of prickle: callers catch `CannotInstall`, say so and skip.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINS = HERE / "npm"
INSTALL_SECONDS = 600


class CannotInstall(Exception):
    """A client could not be brought here; the text says which command failed and how it ended."""


def cache():
    """PRICKLE_INTEROP_CACHE, else a folder of the user's cache."""
    if chosen := os.environ.get("PRICKLE_INTEROP_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prickle-interop"


def python_environment():
    """The interpreter of an environment with everything in requirements.txt."""
    def fill(folder):
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "-r", HERE / "requirements.txt")

    python = "python{}.{}".format(*sys.version_info)
    return _kept(python, [HERE / "requirements.txt"], fill, in_place=True) / "bin" / "python"


def claude_code():
    """The `claude` executable."""
    def unpack(folder):
        _run("node", "install.cjs", cwd=folder / "node_modules" / "@anthropic-ai" / "claude-code")

    return _npm("claude-code", unpack) / "node_modules" / ".bin" / "claude"


def codex():
    """The `codex` executable: a launcher that needs a `node` on the PATH."""
    return _npm("codex") / "node_modules" / ".bin" / "codex"


def grok():
    """The `grok` executable, for Linux on x86-64: npm refuses that package on any other machine."""
    packed = Path("node_modules", "@xai-official", "grok-linux-x64", "bin", "grok.br")
    unpacking = 'fs.writeFileSync("grok", zlib.brotliDecompressSync(fs.readFileSync(process.argv[1])), {mode: 0o755})'

    def unpack(folder):
        _run("node", "-e", unpacking, packed, cwd=folder)
        (folder / packed).unlink()

    return _npm("grok", unpack) / "grok"


def mcp_tools():
    """Command lines, without arguments, of the MCP Inspector and of the conformance suite, in that order.

    Both want a newer Node.js than Debian has: the pinned one comes with them, where there is a package
    of it for this machine; else the machine's own has to do.
    """
    modules = _npm("tools") / "node_modules"
    node = next(modules.glob("node-*/bin/node"), None) or shutil.which("node")
    scope = modules / "@modelcontextprotocol"
    return ([str(node), str(scope / "inspector" / "clients" / "launcher" / "build" / "index.js"), "--cli"],
            [str(node), str(scope / "conformance" / "dist" / "index.js")])


def pinned(client, package):
    """The version of a package that a client's package.json asks for."""
    return json.loads((PINS / client / "package.json").read_text(encoding="utf-8"))["dependencies"][package]


def _npm(client, unpack=lambda folder: None):
    """The cached folder with what npm/CLIENT/package-lock.json names in its node_modules."""
    def fill(folder):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINS / client / name, folder)
        # Not `npm ci`: it refuses a lock file that lacks optional packages for other systems, and a registry
        # need not have those. What the lock file names is taken as it says.
        # npm versions differ in whether they run a package's install script: none, then ours by hand.
        _run("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
        unpack(folder)

    return _kept(client, [PINS / client / "package-lock.json"], fill)


def _kept(name, pins, fill, in_place=False):
    """The cached folder for these pins, filled first if it is not there.

    A folder is complete or absent: it is filled under another name, or, where its content holds its
    own path (`in_place`), counted only once a mark stands beside it.
    """
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in pins)).hexdigest()[:12]
    folder = cache() / f"{name}-{digest}"
    mark = folder / ".complete"
    if mark.exists():
        return folder
    try:
        cache().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotInstall(f"no cache folder: {error}") from error
    shutil.rmtree(folder, ignore_errors=True)
    target = folder if in_place else Path(tempfile.mkdtemp(prefix=f"{name}-", dir=cache()))
    try:
        fill(target)
    except CannotInstall:
        shutil.rmtree(target, ignore_errors=True)
        raise
    if target != folder:
        target.rename(folder)
    mark.touch()
    return folder


def _run(*command, cwd=None, env=None):
    command = [str(part) for part in command]
    print("installing:", " ".join(command), flush=True)
    try:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=INSTALL_SECONDS)
    except FileNotFoundError as error:
        raise CannotInstall(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"`{' '.join(command)}` took more than {INSTALL_SECONDS} s") from error
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-8:])
        raise CannotInstall(f"`{' '.join(command)}` ended with {done.returncode}:\n{last}")
