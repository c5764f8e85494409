"""Grok, the real one, against a real room: `python3 grok.py PATH/TO/prickle`.

Only the model behind it is a stand-in (model.py). Nothing leaves the machine, and the app's home is a
temporary folder.
"""

import json
import sys
from pathlib import Path

from apps import Grok
from dialects import Chat
from install import CannotInstall, grok, pinned
from model import Model
from report import REPORT, TOO_LONG, check_refused, check_shown
from room import Checks, Room, schema

# The model isn't given a server's tools: it looks one up with one tool, and calls it by its name with another.
TOOL = "prickle__update_pulse"
SEARCH = {"name": "search_tool", "input": {"query": "prickle pulse"}}
ALLOW = ("--allow", f"MCPTool({TOOL})")


def call(report):
    return {"name": "use_tool", "input": {"tool_name": TOOL, "tool_input": report}}


def ask(app, token, *arguments):
    """One run without its screen: how each tool call ended, and how the run did."""
    done = app.run("-p", "Report what you are doing.", "--output-format", "streaming-json", *arguments, token=token)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    updates = [event["status"] for event in events if event["type"] == "tool_call_update" and event["status"]]
    return updates, done


def results(model):
    """The tool results of the conversation that reached the model."""
    return max(([text for text, _ in Chat.results(body)] for body in model.requests), key=len)


def check_setup(checks, app, room, token):
    version = pinned("grok", "@xai-official/grok-linux-x64")
    told = app.run("--version")
    checks.that(f"grok is version {version}", told.stdout.split()[:2] == ["grok", version], told.stdout + told.stderr)
    for time in ("once", "again"):
        added = app.run("mcp", "add", "--transport", "http", "prickle", room.mcp_url,
                        "--header", "Authorization: Bearer ${PRICKLE_TOKEN}", token=token)
        checks.that(f"grok mcp add, {time}", added.returncode == 0, added.stdout + added.stderr)
    config = (app.home / ".grok" / "config.toml").read_text(encoding="utf-8")
    checks.that("its configuration names the variable, not the token",
                'Authorization = "Bearer ${PRICKLE_TOKEN}"' in config and token not in config, config)
    doctor = app.run("mcp", "doctor", "prickle", token=token)
    checks.that("grok mcp doctor: both tools", doctor.returncode == 0 and "2 tools discovered" in doctor.stdout,
                doctor.stdout + doctor.stderr)
    for what, wrong in (("a bad token", "prk_" + "C" * 43), ("no token", "")):
        doctor = app.run("mcp", "doctor", "prickle", token=wrong)
        checks.that(f"grok mcp doctor: {what} fails", doctor.returncode == 1 and "✗ handshake failed" in doctor.stdout,
                    doctor.stdout + doctor.stderr)


def check_not_allowed(checks, app, room, model, token):
    model.script = [call(REPORT), {"type": "text", "text": "Reported."}]
    ended, done = ask(app, token)
    checks.that("a tool that nobody allowed is not called", ended == ["failed"] and room.pulse("grok") is None,
                (ended, done.stdout, done.stderr))


def check_call(checks, app, room, model, token):
    model.requests.clear()
    model.script = [SEARCH, call(REPORT), {"type": "text", "text": "Reported."}]
    ended, done = ask(app, token, *ALLOW)
    checks.that("an allowed one is, and succeeds", ended == ["completed", "completed"] and done.returncode == 0,
                (ended, done.stdout, done.stderr))
    came = results(model)
    if not checks.that("both results came back to the model", len(came) == 2, came):
        return
    found = {tool["tool_name"]: tool for server in json.loads(came[0])["results"] for tool in server["tools"]}
    if checks.that("the model finds the tool", TOOL in found, came[0]):
        checks.equal("its schema is the published one, key order too", found[TOOL]["input_schema"],
                     schema("update_pulse.input.json"))
        checks.that("its description came along", bool(found[TOOL]["description"]), found[TOOL])
    checks.equal("the model reads the room's structured result", json.loads(came[1]), {"pulse": room.pulse("grok")})
    check_shown(checks, room, "grok")


def check_refused_call(checks, app, room, model, token):
    model.requests.clear()
    before = room.pulse("grok")
    model.script = [call(TOO_LONG), {"type": "text", "text": "Hm."}]
    ended, done = ask(app, token, *ALLOW)
    checks.that("a refused call leaves the run alive", done.returncode == 0 and len(ended) == 1, (ended, done.stderr))
    check_refused(checks, room, "grok", before, results(model))


def main(binary):
    try:
        executable = grok()
    except CannotInstall as why:
        print(f"skipped: Grok was not run: {why}")
        return 0
    checks = Checks()
    model = Model([])
    with Room(binary) as room:
        app = Grok(executable, room.folder / "grok-home", model.url)
        token = room.agent_key("grok")
        checks.run(
            room,
            lambda: check_setup(checks, app, room, token),
            lambda: check_not_allowed(checks, app, room, model, token),
            lambda: check_call(checks, app, room, model, token),
            lambda: check_refused_call(checks, app, room, model, token),
        )
    model.close()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: grok.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
