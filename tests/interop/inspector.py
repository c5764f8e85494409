"""The MCP Inspector's command line, strict, against a real room: `python3 inspector.py PATH/TO/prickle`.

`--strict` also judges whether the schemas can be carried to other model services; a fault is exit code 6.
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

from install import CannotInstall, mcp_tools
from room import OWNER, PROJECT, Checks, Room, schema

RUN_SECONDS = 60
FINE, REFUSED, NO_KEY = 0, 5, 3
DOING_LIMIT = 200


class Inspector:
    """The program in a home of its own, asking one room with one token, or with none."""

    def __init__(self, command, room, token):
        self._command = [*command, room.mcp_url, "--transport", "http"]
        if token:
            self._command += ["--header", f"Authorization: Bearer {token}"]
        self._home = room.folder / "inspector-home"
        self._home.mkdir(exist_ok=True)

    def run(self, *arguments):
        return subprocess.run(
            [*self._command, *arguments], cwd=self._home,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self._home)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS,
        )

    def call(self, tool, **arguments):
        # One flag takes all pairs; a value that is JSON is read as such.
        pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]
        return self.run("--method", "tools/call", "--tool-name", tool, "--tool-arg", *pairs)


def ended(run):
    return f"exit code {run.returncode}: {run.stdout} {run.stderr}"


def check_tools(checks, inspector):
    listed = inspector.run("--method", "tools/list", "--strict")
    if not checks.that("tools/list: nothing to complain of, strictly", listed.returncode == FINE and not listed.stderr,
                       ended(listed)):
        return
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    checks.that("tools/list: both tools, no other", sorted(tools) == ["report_run", "update_pulse"], sorted(tools))
    for name, tool in tools.items():
        for kind in ("input", "output"):
            # The Inspector moves some keys: order is looked at with other clients.
            shown, published = (json.dumps(s, sort_keys=True) for s in (tool[f"{kind}Schema"], schema(f"{name}.{kind}.json")))
            checks.that(f"{name}: its {kind} schema is the published one", shown == published, shown)


def check_success(checks, inspector, room):
    intent = {"kind": "add", "paths": ["src/**"], "areas": ["landing-page"]}
    called = inspector.call("update_pulse", project=PROJECT, doing="Looking around", files=["src/a.rs"], intent=intent)
    if checks.that("update_pulse succeeds", called.returncode == FINE and not called.stderr, ended(called)):
        result = json.loads(called.stdout)
        pulse = result["structuredContent"]["pulse"]
        checks.that("update_pulse: the result is no error", result["isError"] is False, result)
        checks.that("update_pulse: files and intent come back as sent",
                    (pulse["files"], pulse["intent"]["kind"], pulse["intent"]["paths"], pulse["intent"]["areas"])
                    == (["src/a.rs"], *intent.values()), pulse)
        checks.equal("update_pulse: the room shows that pulse", room.pulse("inspector"), pulse)

    report = {"project": PROJECT, "run_id": str(uuid.uuid4()), "task_id": "T-1", "input_tokens": 1200,
              "output_tokens": 0, "turns": None, "duration_ms": 91000, "exit_code": 0}
    called = inspector.call("report_run", **report)
    if checks.that("report_run succeeds", called.returncode == FINE and not called.stderr, ended(called)):
        run = json.loads(called.stdout)["structuredContent"]["run"]
        checks.that("report_run: the record is the report, unknown and zero kept apart",
                    {key: run[key] for key in report} == report, run)
        _, _, page = room.ask("/v1/runs")
        checks.that("report_run: the owner reads it", [r["run_id"] for r in page["runs"]] == [report["run_id"]], page)


def check_refusal(checks, inspector, room):
    before = room.pulse("inspector")
    for what, arguments, words in (
        ("a doing that is too long", {"project": PROJECT, "doing": "x" * (DOING_LIMIT + 1)}, ("doing", str(DOING_LIMIT))),
        ("no doing at all", {"project": PROJECT}, ("doing is required",)),
    ):
        called = inspector.call("update_pulse", **arguments)
        if checks.that(f"{what}: exit code {REFUSED}, as for every tool error", called.returncode == REFUSED, ended(called)):
            result = json.loads(called.stdout)
            text = result["content"][0]["text"]
            checks.that(f"{what}: the text says what to do", result["isError"] and all(w in text for w in words), text)
    checks.that("a refused call stores nothing", room.pulse("inspector") == before, room.pulse("inspector"))


def check_no_token(checks, command, room):
    for what, token in (("no token", None), ("a token nobody made", "prk_" + "A" * 43)):
        called = Inspector(command, room, token).run("--method", "tools/list")
        checks.that(f"{what}: it must sign in, and sees no tool",
                    called.returncode == NO_KEY and "auth_required" in called.stderr and "update_pulse" not in called.stdout,
                    ended(called))


def main(binary):
    try:
        command, _ = mcp_tools()
    except CannotInstall as why:
        print(f"skipped: the MCP Inspector was not run: {why}")
        return 0
    checks = Checks()
    with Room(binary) as room:
        inspector = Inspector(command, room, room.agent_key("inspector"))
        checks.run(
            room,
            lambda: check_tools(checks, inspector),
            lambda: check_success(checks, inspector, room),
            lambda: check_refusal(checks, inspector, room),
            lambda: check_no_token(checks, command, room),
        )
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: inspector.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
