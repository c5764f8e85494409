"""Brings the foreign clients: a Python environment and Claude Code, both pinned, both kept in a cache folder.

A registry that can't be reached is no fault of prickle: callers catch `CannotInstall`, say so and skip.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
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
    return _kept(python, ["requirements.txt"], fill, in_place=True) / "bin" / "python"


def claude_code():
    """The `claude` executable of the version that package-lock.json names."""
    def fill(folder):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        # npm versions differ in whether they run a package's install script: none, then ours by hand.
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
        _run("node", "install.cjs", cwd=folder / "node_modules" / "@anthropic-ai" / "claude-code")

    return _kept("claude-code", ["package-lock.json"], fill) / "node_modules" / ".bin" / "claude"


def _kept(name, pins, fill, in_place=False):
    """The cached folder for these pins, filled first if it is not there.

    A folder is complete or absent: it is filled under another name, or, where its content holds its
    own path (`in_place`), counted only once a mark stands beside it.
    """
    digest = hashlib.sha256(b"".join((HERE / pin).read_bytes() for pin in pins)).hexdigest()[:12]
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


def _run(*command, cwd=None):
    command = [str(part) for part in command]
    print("installing:", " ".join(command), flush=True)
    try:
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=INSTALL_SECONDS)
    except FileNotFoundError as error:
        raise CannotInstall(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"`{' '.join(command)}` took more than {INSTALL_SECONDS} s") from error
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-8:])
        raise CannotInstall(f"`{' '.join(command)}` ended with {done.returncode}:\n{last}")
