"""Claude Code, the real one, against a real room: `python3 claude.py PATH/TO/prickle`.

Only the model behind it is a stand-in (model.py): it makes the app look the tool up and call it, as
a model would. Nothing leaves the machine, and the app's home is a temporary folder.
"""

import json
import sys
from pathlib import Path

from apps import ClaudeCode
from dialects import Messages
from install import CannotInstall, claude_code, pinned
from model import Model
from report import REPORT, check_shown
from room import OWNER, PROJECT, Checks, Room, schema

TOOL = "mcp__prickle__update_pulse"


def ask(app, room, prompt, token):
    """One print-mode run with the room as its one server; its events, and how it ended."""
    config = app.home / "mcp.json"
    server = {"type": "http", "url": room.mcp_url, "headers": {"Authorization": "Bearer ${PRICKLE_TOKEN}"}}
    config.write_text(json.dumps({"mcpServers": {"prickle": server}}), encoding="utf-8")
    done = app.run("-p", prompt, "--output-format", "stream-json", "--verbose", "--mcp-config", str(config),
                   "--strict-mcp-config", "--allowedTools", TOOL, "--max-turns", "6", token=token)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done


def check_version(checks, app):
    version = pinned("claude-code", "@anthropic-ai/claude-code")
    told = app.run("--version")
    checks.that(f"claude is version {version}", told.returncode == 0 and told.stdout.startswith(version),
                told.stdout + told.stderr)


def check_call(checks, app, room, model):
    events, done = ask(app, room, "Report what you are doing.", room.agent_key("claude"))
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

    results = list(Messages.results(model.requests[-1]))
    answered = [text for text, is_error in results if not is_error]
    if checks.that("both tool calls came back to the model without an error", len(answered) == 2, results):
        checks.equal("the model reads the room's structured result", json.loads(answered[1]),
                     {"pulse": room.pulse("claude")})

    tools = {tool["name"]: tool for tool in model.requests[-1]["tools"]}
    if checks.that("the tool reached the model", TOOL in tools, sorted(tools)):
        checks.equal("its schema is the published one, key order too", tools[TOOL]["input_schema"],
                     schema("update_pulse.input.json"))
        checks.that("its description came along", bool(tools[TOOL].get("description")), tools[TOOL])


def check_room(checks, room):
    _, _, snapshot = room.ask(f"/v1/projects/{PROJECT}/pulse")
    checks.that("the room shows one agent", [p["agent_id"] for p in snapshot["pulses"]] == [f"{OWNER}/claude"],
                snapshot["pulses"])
    check_shown(checks, room, "claude")


def check_health(checks, app, room):
    """What a person sees from `claude mcp list`, with a key that works and with one that doesn't."""
    for time in ("once", "again"):
        # A name that is there already is refused: so it is removed first, whether it is there or not.
        app.run("mcp", "remove", "good", "--scope", "local")
        server = {"type": "http", "url": room.mcp_url, "headers": {"Authorization": "Bearer ${PRICKLE_TOKEN}"}}
        added = app.run("mcp", "add-json", "--scope", "local", "good", json.dumps(server))
        checks.that(f"claude mcp add-json, {time}", added.returncode == 0, added.stdout + added.stderr)
    bad = "prk_" + "C" * 43
    # --header takes all that follows: it goes last.
    added = app.run("mcp", "add", "--transport", "http", "bad", room.mcp_url, "--header", f"Authorization: Bearer {bad}")
    checks.that("claude mcp add", added.returncode == 0, added.stdout + added.stderr)

    def listed(token):
        text = app.run("mcp", "list", token=token).stdout
        return text, {line.split(":")[0]: line for line in text.splitlines() if ":" in line}

    text, lines = listed(room.agent_key("claude-listed"))
    checks.that("claude mcp list: the key in the variable is connected", "Connected" in lines.get("good", ""), text)
    _, _, refusal = room.ask("/mcp", bad, post={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    checks.that("claude mcp list: the bad key shows the room's own sentence",
                "Failed" in lines.get("bad", "") and refusal.strip() and refusal.strip() in text, (text, refusal))
    text, lines = listed("")
    checks.that("claude mcp list: without the variable it fails and names it",
                "Failed" in lines.get("good", "") and "Missing environment variables: PRICKLE_TOKEN" in text, text)


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
        app = ClaudeCode(executable, room.folder / "claude-home", model.url)
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
