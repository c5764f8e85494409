"""Codex, the real one, against a real room: `python3 codex.py PATH/TO/prickle`.

Only the model behind it is a stand-in (model.py). Nothing leaves the machine, and the app's home is a
temporary folder.
"""

import json
import sys
from pathlib import Path

from apps import Codex
from dialects import Responses
from install import CannotInstall, codex, pinned
from model import Model
from report import REPORT, TOO_LONG, check_refused, check_shown
from room import Checks, Room, schema

# Codex offers a server's tools in a namespace of the server's name.
NAMESPACE = "mcp__prickle"
TOOL = {"namespace": NAMESPACE, "name": "update_pulse"}


def ask(app, token, *arguments):
    """One `codex exec` run: its finished items of the kind that calls a server's tool, and how it ended."""
    done = app.run("exec", "--skip-git-repo-check", "--json", *arguments, "Report what you are doing.", token=token)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    items = [event["item"] for event in events if event.get("type") == "item.completed"]
    return [item for item in items if item["type"] == "mcp_tool_call"], done


def offered(model):
    """The tools of the room that the model was last told of, by name; None where it was told of no room."""
    tools = model.requests[-1]["tools"] if model.requests else []
    return next(({tool["name"]: tool for tool in t["tools"]} for t in tools if t.get("name") == NAMESPACE), None)


def check_setup(checks, app, room):
    version = pinned("codex", "@openai/codex")
    told = app.run("--version")
    checks.that(f"codex is version {version}", told.stdout.split() == ["codex-cli", version], told.stdout + told.stderr)
    for time in ("once", "again"):
        added = app.run("mcp", "add", "prickle", "--url", room.mcp_url, "--bearer-token-env-var", "PRICKLE_TOKEN",
                        token="prk_" + "D" * 43)
        checks.that(f"codex mcp add, {time}", added.returncode == 0, added.stdout + added.stderr)
    config = (app.home / ".codex" / "config.toml").read_text(encoding="utf-8")
    checks.that("its configuration names the variable, not the token",
                'bearer_token_env_var = "PRICKLE_TOKEN"' in config and "prk_" not in config, config)


def check_call(checks, app, room, model):
    model.script = [{**TOOL, "input": REPORT}, {"type": "text", "text": "Reported."}]
    calls, done = ask(app, room.agent_key("codex"))
    checks.that("codex ends well", done.returncode == 0, (done.stdout, done.stderr))
    checks.that("codex calls the tool without asking anyone, and it succeeds",
                [(c["server"], c["tool"], c["status"], c["error"]) for c in calls]
                == [("prickle", "update_pulse", "completed", None)], (calls, done.stderr))
    checks.that("the model was asked once a turn", len(model.requests) == len(model.script), len(model.requests))

    results = [text for text, _ in Responses.results(model.requests[-1])]
    if checks.that("one result came back to the model", len(results) == 1, results):
        # Codex puts a line about the time it took before what the server said.
        checks.equal("the model reads the room's structured result", json.loads(results[0][results[0].index("{"):]),
                     {"pulse": room.pulse("codex")})
    check_shown(checks, room, "codex")


def check_tools(checks, model):
    """The schema is cut to what OpenAI's models take: without limits, which is why errors must tell them."""
    tools = offered(model)
    if not checks.that("both tools reached the model", tools and sorted(tools) == ["report_run", "update_pulse"], tools):
        return
    for name, tool in tools.items():
        published = schema(f"{name}.input.json")
        parameters = tool["parameters"]
        checks.that(f"{name}: every argument reached the model", sorted(parameters["properties"])
                    == sorted(published["properties"]) and parameters["required"] == published["required"], parameters)
        checks.that(f"{name}: its description came along", bool(tool["description"]), tool)


def check_refused_call(checks, app, room, model):
    before = room.pulse("codex")
    model.script = [{**TOOL, "input": TOO_LONG}, {"type": "text", "text": "Hm."}]
    calls, done = ask(app, room.agent_key("codex"))
    checks.that("a refused call is one that failed", [c["status"] for c in calls] == ["failed"], (calls, done.stderr))
    check_refused(checks, room, "codex", before, [text for text, _ in Responses.results(model.requests[-1])])


def check_bad_token(checks, app, model):
    model.script = [{"type": "text", "text": "Without."}]
    bad = "prk_" + "C" * 43
    for what, token in (("a bad token", bad), ("no token", "")):
        calls, done = ask(app, token)
        checks.that(f"{what}: codex works on, without the tools", done.returncode == 0 and not calls
                    and offered(model) is None, (done.returncode, calls, offered(model), done.stderr))
        calls, done = ask(app, token, "-c", "mcp_servers.prickle.required=true")
        checks.that(f"{what}: where the server is required, codex ends with 1 and names it",
                    done.returncode == 1 and "prickle" in done.stderr + done.stdout, (done.stdout, done.stderr))


def main(binary):
    try:
        executable = codex()
    except CannotInstall as why:
        print(f"skipped: Codex was not run: {why}")
        return 0
    checks = Checks()
    model = Model([])
    with Room(binary) as room:
        app = Codex(executable, room.folder / "codex-home", model.url)
        checks.run(
            room,
            lambda: check_setup(checks, app, room),
            lambda: check_call(checks, app, room, model),
            lambda: check_tools(checks, model),
            lambda: check_refused_call(checks, app, room, model),
            lambda: check_bad_token(checks, app, model),
        )
    model.close()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: codex.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
