"""From an installed binary to an agent on the screen: `python3 first_run.py PATH/TO/prickle`.

An empty home, a new git repository, three terminals: `prickle watch` in one, `prickle connect APP` in
another, and in the third what connect printed, pasted as it stands. The apps are the real ones, in
their print mode, with a stand-in (model.py) for the model. This is the one test that uses the room's
own port; where something listens there already, it is skipped.
"""

import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from apps import ClaudeCode, Codex, Grok
from install import CannotInstall, claude_code, codex, grok
from model import Model
from report import REPORT
from room import PROJECT, Checks
from terminal import Terminal

PORT = 7766
TOOL = "update_pulse"
PROMPT = "'Report what you are doing.'"
REPORTED = {"type": "text", "text": "Reported."}


class Way:
    """How one app is brought in: `word` for connect, how its print mode is asked for, what its model does."""

    def __init__(self, word, install, kind, ask, script):
        self.word, self.install, self.kind, self.ask, self.script = word, install, kind, ask, script


WAYS = (
    Way("claude-code", claude_code, ClaudeCode, f" -p {PROMPT}", [
        {"name": "ToolSearch", "input": {"query": f"select:mcp__prickle__{TOOL}"}},
        {"name": f"mcp__prickle__{TOOL}", "input": REPORT},
        REPORTED,
    ]),
    Way("codex", codex, Codex, f" exec {PROMPT}", [
        {"namespace": "mcp__prickle", "name": TOOL, "input": REPORT},
        REPORTED,
    ]),
    # Without its screen Grok reads a project's instructions only where it is told to trust the folder.
    Way("grok", grok, Grok, f" --trust -p {PROMPT}", [
        {"name": "search_tool", "input": {"query": "prickle pulse"}},
        {"name": "use_tool", "input": {"tool_name": f"prickle__{TOOL}", "tool_input": REPORT}},
        REPORTED,
    ]),
)


def steps(printed):
    """The three steps that connect printed: of each, its heading and its lines to be taken as they are."""
    parts = re.split(r"^([123])\. ", printed, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2]))
    return [(text.splitlines()[0], [line[2:] for line in text.splitlines() if line.startswith("  ")])
            for text in (found.get(number, " ") for number in "123")]


class FirstRun:
    """The home, the repository, the terminals."""

    def __init__(self, binary, folder):
        self.home = folder / "home"
        self.home.mkdir()
        self.repository = folder / PROJECT
        self.repository.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "prickle").symlink_to(Path(binary).resolve())
        self.model = Model([])
        self.env = {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin"}
        subprocess.run(["git", "init", "--quiet", str(self.repository)], env=self.env, check=True)
        self.apps = {}
        self.terminal = None

    def bring(self, way, executable):
        """The app, to be found on the PATH, asking the stand-in."""
        app = way.kind(executable, self.home, self.model.url)
        self.apps[way.word] = app
        # Its own folder first, then what it needs itself.
        self.env = {**app.env, **self.env, "PATH": f"{app.env['PATH']}:{self.env['PATH']}"}

    def prickle(self, *arguments):
        return subprocess.run([str(self.bin / "prickle"), *arguments], cwd=self.repository, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def show_log(self):
        """What the room logged, wherever in the home that is."""
        for log in self.home.rglob("prickle/**/*.log"):
            print(f"--- {log.name}, last lines ---", *log.read_text(errors="replace").splitlines()[-20:], sep="\n")

    def close(self):
        try:
            if self.terminal:
                self.terminal.close()
        finally:
            self.prickle("serve", "--stop")
            self.model.close()


def taken():
    """Whether something listens at the room's own port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def check_watch(checks, run):
    run.terminal.open("watch", run.repository, 110, 32)
    run.terminal.type("watch", "prickle watch")
    checks.that("prickle watch opens a room of the repository's name",
                run.terminal.wait_for("watch", PROJECT + r"(?s:.)*connect"), run.terminal.screen("watch"))


def check_app(checks, run, way):
    terminal, word = run.terminal, way.word
    run.model.script = way.script
    terminal.open(f"connect-{word}", run.repository, 100, 50)
    terminal.type(f"connect-{word}", f"prickle connect {word}")
    told = terminal.wait_for(f"connect-{word}", rf"prickle connect {word} --name \S+\n")
    printed = terminal.screen(f"connect-{word}")
    if not checks.that(f"{word}: connect says what to do", told, printed):
        return
    who = re.search(r"(\S+/\S+) may now report to (\S+)\.\s+Its key is in (\S+)", printed)
    checks.that(f"{word}: it names agent and room", who and who[1].endswith(f"/{word}") and who[2] == PROJECT, printed)
    (_, setup), (reading, lines), (_, start) = steps(printed)
    if not checks.that(f"{word}: three steps, each with its lines", setup and lines and len(start) == 1, printed):
        return

    # The one paste: the first step, and the third with a question for the app.
    terminal.open(word, run.repository, 100, 50)
    ended = '; echo "ended with $?"'
    terminal.paste(word, "\n".join(line for line in [*setup, start[0] + way.ask + ended] if line))
    done = terminal.wait_for(word, r"ended with (\d+)")
    if not checks.that(f"{word}: what connect printed, pasted, runs", done and done[1] == "0", terminal.screen(word)):
        return
    checks.that(f"{word}: its pulse is on the screen of prickle watch", on_screen(run, word), terminal.screen("watch"))
    checks.that(f"{word}: connect waited, saw the tools listed, and the first pulse", terminal.wait_for(
        f"connect-{word}", r"Waiting for its first pulse .*listed the tools at [\d:]+ … first pulse at [\d:]+\. Done\."
    ), terminal.screen(f"connect-{word}"))

    # The second step is for all later sessions: what it adds must reach the model.
    file = re.search(r"add to (\S+):", reading)
    if checks.that(f"{word}: the second step names a file", file, reading):
        with open(run.repository / file[1], "a", encoding="utf-8") as instructions:
            instructions.write("\n".join(lines) + "\n")
        run.model.requests.clear()
        terminal.type(word, "clear")
        terminal.type(word, start[0] + way.ask + '; echo "again, ended with $?"')
        terminal.wait_for(word, r"again, ended with \d+")
        checks.that(f"{word}: the model reads the lines of {file[1]}",
                    any(lines[0] in text for request in run.model.requests for text in strings(request)),
                    terminal.screen(word))
    checks.that(f"{word}: no terminal shows a token", not any(
        "prk_" in terminal.screen(name) for name in ("watch", word, f"connect-{word}")), "prk_…")


def check_other(checks, run, way):
    """The settings for any other client, read by the one client here that takes them as an argument."""
    terminal, name = run.terminal, "tester"
    run.model.script = way.script
    printed = run.prickle("connect", "other", "--name", name).stdout
    (_, setup), *_ = steps(printed)
    if not checks.that("other: connect gives a line for the key and one of settings", len([*filter(None, setup)]) == 2,
                       printed):
        return
    export, settings = filter(None, setup)
    terminal.open(name, run.repository, 100, 50)
    terminal.paste(name, f"{export}\nclaude --mcp-config '{settings}' --strict-mcp-config --allowedTools "
                         f"mcp__prickle__{TOOL} -p {PROMPT}; echo \"ended with $?\"")
    done = terminal.wait_for(name, r"ended with (\d+)")
    checks.that("other: a client that takes them runs", done and done[1] == "0", terminal.screen(name))
    checks.that("other: its pulse is on the screen of prickle watch", on_screen(run, name), terminal.screen("watch"))


def on_screen(run, agent):
    """Whether the agent's row shows what its model reported; waits for it."""
    return run.terminal.wait_for("watch", rf"{agent} +working .*{REPORT['doing'][:15]}")


def strings(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def check_secrets(checks, run):
    """The token stands in prickle's own files and nowhere else."""
    holders = [path for path in run.home.rglob("*") if path.is_file() and b"prk_" in path.read_bytes()]
    ours = [path for path in holders if "prickle" in path.relative_to(run.home).parts]
    checks.that("the keys are kept, readable by their owner alone",
                ours and all(path.stat().st_mode & 0o077 == 0 for path in ours), holders)
    checks.that("no app wrote one down", holders == ours, holders)


def check_stop(checks, run):
    stopped = run.prickle("serve", "--stop")
    checks.that("prickle serve --stop ends the room", stopped.returncode == 0 and not taken(),
                stopped.stdout + stopped.stderr)


def main(binary):
    if taken():
        print(f"skipped: the first run was not tried: something listens on 127.0.0.1:{PORT} already")
        return 0
    # Ended from outside, it still ends the room.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="prickle-first-run-") as folder:
        run = FirstRun(binary, Path(folder))
        try:
            ways = []
            for way in WAYS:
                try:
                    run.bring(way, way.install())
                    ways.append(way)
                except CannotInstall as why:
                    print(f"skipped: no first run with {way.word}: {why}")
            run.terminal = Terminal(Path(folder), run.env)
            checks.run(
                run,
                lambda: check_watch(checks, run),
                *(lambda way=way: check_app(checks, run, way) for way in ways),
                *(lambda way=way: check_other(checks, run, way) for way in ways if way.kind is ClaudeCode),
                lambda: check_secrets(checks, run),
                lambda: check_stop(checks, run),
            )
        finally:
            run.close()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: first_run.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
