"""Claude Code, the real one, against a real room: `python3 claude.py PATH/TO/prickle`.

Only the model behind it is a stand-in (model.py): it makes the app look the tool up and call it, as
a model would. Nothing leaves the machine, and the app's home is a temporary folder.
"""

import json
import subprocess
import sys
from pathlib import Path

from install import CannotInstall, claude_code, pinned
from model import Model, blocks
from room import OWNER, PROJECT, Checks, Room, schema

TOOL = "mcp__prickle__update_pulse"
REPORT = {
    "project": PROJECT,
    "doing": "Moving the hero copy into its own component.",
    "branch": "feat/hero",
    "files": ["src/hero.tsx", "src/page.tsx"],
    "intent": {"kind": "change", "paths": ["src/hero.tsx"], "areas": ["landing-page"]},
}
RUN_SECONDS = 120


class ClaudeCode:
    """The app in a home of its own, with the room as its one MCP server."""

    def __init__(self, executable, room, model_url):
        self._executable = executable
        self._room = room
        self._home = room.folder / "claude-home"
        self._home.mkdir()
        # Nothing of the caller's environment: no key, no proxy, no setting of theirs takes part.
        self._env = {
            "PATH": f"{Path(executable).parent}:/usr/bin:/bin",
            "HOME": str(self._home),
            "TMPDIR": str(self._home),
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "sk-ant-stand-in",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def run(self, *arguments, token=""):
        return subprocess.run(
            [str(self._executable), *arguments], cwd=self._home, env={**self._env, "PRICKLE_TOKEN": token},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS,
        )

    def ask(self, prompt, token):
        """One print-mode run; its events, and how it ended."""
        config = self._home / "mcp.json"
        server = {"type": "http", "url": self._room.mcp_url, "headers": {"Authorization": "Bearer ${PRICKLE_TOKEN}"}}
        config.write_text(json.dumps({"mcpServers": {"prickle": server}}), encoding="utf-8")
        done = self.run("-p", prompt, "--output-format", "stream-json", "--verbose", "--mcp-config", str(config),
                        "--strict-mcp-config", "--allowedTools", TOOL, "--max-turns", "6", token=token)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done


def check_version(checks, app):
    version = pinned("claude-code", "@anthropic-ai/claude-code")
    told = app.run("--version")
    checks.that(f"claude is version {version}", told.returncode == 0 and told.stdout.startswith(version),
                told.stdout + told.stderr)


def check_call(checks, app, room, model):
    events, done = app.ask("Report what you are doing.", room.agent_key("claude"))
    started = next((event for event in events if event.get("subtype") == "init"), {})
    checks.that("claude connects to the room", [(s["name"], s["status"]) for s in started.get("mcp_servers", [])]
                == [("prickle", "connected")], started.get("mcp_servers") or done.stdout[-400:] + done.stderr[-400:])
    ended = next((event for event in events if event.get("type") == "result"), {})
    checks.that("claude ends well, with no tool denied",
                done.returncode == 0 and ended.get("is_error") is False and not ended.get("permission_denials"),
                (done.returncode, ended, done.stderr))
    checks.that("the model was asked once a turn", len(model.requests) == len(model.script), len(model.requests))
    if not model.requests:
        return

    results = list(blocks(model.requests[-1], "tool_result"))
    answered = [block for block in results if not block.get("is_error")]
    if checks.that("both tool calls came back to the model without an error", len(answered) == 2, results):
        checks.equal("the model reads the room's structured result", json.loads(text_of(answered[1])),
                     {"pulse": room.pulse("claude")})

    tools = {tool["name"]: tool for tool in model.requests[-1]["tools"]}
    if checks.that("the tool reached the model", TOOL in tools, sorted(tools)):
        checks.equal("its schema is the published one, key order too", tools[TOOL]["input_schema"],
                     schema("update_pulse.input.json"))
        checks.that("its description came along", bool(tools[TOOL].get("description")), tools[TOOL])


def text_of(block):
    content = block["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def check_room(checks, room):
    _, _, snapshot = room.ask(f"/v1/projects/{PROJECT}/pulse")
    checks.that("the room shows one agent", [p["agent_id"] for p in snapshot["pulses"]] == [f"{OWNER}/claude"],
                snapshot["pulses"])
    pulse = room.pulse("claude") or {}
    shown = {key: value for key, value in pulse.items() if key not in ("updated_at", "intent")}
    checks.that("its pulse is what the model sent, the rest at its default", shown == {
        "agent_id": f"{OWNER}/claude", "owner": OWNER, "project": PROJECT, "availability": "working",
        "doing": REPORT["doing"], "task_id": None, "branch": REPORT["branch"], "files": REPORT["files"],
        "last_decision": None,
    }, shown)
    intent = {key: value for key, value in pulse.get("intent", {}).items() if key != "expires_at"}
    checks.that("its intent is what the model sent", intent == REPORT["intent"], intent)


def check_health(checks, app, room):
    """What a person sees from `claude mcp list`, with a key that works and with one that doesn't."""
    bad = "prk_" + "C" * 43
    for name, token in (("good", room.agent_key("claude-listed")), ("bad", bad)):
        # --header takes all that follows: it goes last.
        added = app.run("mcp", "add", "--transport", "http", name, room.mcp_url, "--header", f"Authorization: Bearer {token}")
        checks.that(f"claude mcp add {name}", added.returncode == 0, added.stdout + added.stderr)
    listed = app.run("mcp", "list").stdout
    lines = {line.split(":")[0]: line for line in listed.splitlines() if ":" in line}
    checks.that("claude mcp list: the good key is connected", "Connected" in lines.get("good", ""), listed)
    _, _, refusal = room.ask("/mcp", bad, post={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    checks.that("claude mcp list: the bad key shows the room's own sentence",
                "Failed" in lines.get("bad", "") and refusal.strip() and refusal.strip() in listed, (listed, refusal))


def main(binary):
    try:
        executable = claude_code()
    except CannotInstall as why:
        print(f"skipped: Claude Code was not run: {why}")
        return 0
    checks = Checks()
    model = Model([
        # MCP tools are deferred: the model looks one up before it can call it.
        {"name": "ToolSearch", "input": {"query": f"select:{TOOL}"}},
        {"name": TOOL, "input": REPORT},
        {"type": "text", "text": "Reported."},
    ])
    with Room(binary) as room:
        app = ClaudeCode(executable, room, model.url)
        checks.run(
            room,
            lambda: check_version(checks, app),
            lambda: check_call(checks, app, room, model),
            lambda: check_room(checks, room),
            lambda: check_health(checks, app, room),
        )
    model.close()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: claude.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
