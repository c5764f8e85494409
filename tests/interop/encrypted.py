"""The real agent apps against a real room that speaks https: `python3 encrypted.py PATH/TO/prickle [README.md]`.

The room's certificate signed itself, as the README says how; each app trusts it by the variable that the
README names for it, and does not without.
"""

import json
import ssl
import sys
import tempfile
from pathlib import Path

import codex as codex_calls
from apps import ClaudeCode, Codex, Grok
from certificate import README, certificate
from install import CannotInstall, claude_code, codex, grok
from model import Model
from report import REPORT
from room import PROJECT, Checks, Room

NOBODY = "http://127.0.0.1:1"  # where a model would be, for what needs none
REPORTED = [{**codex_calls.TOOL, "input": REPORT}, {"type": "text", "text": "Reported."}]


def claude_connects(executable, home, room, token, trust):
    app = ClaudeCode(executable, home, NOBODY)
    app.env |= trust
    server = {"type": "http", "url": room.mcp_url, "headers": {"Authorization": "Bearer ${PRICKLE_TOKEN}"}}
    app.run("mcp", "add-json", "--scope", "local", "prickle", json.dumps(server))
    told = app.run("mcp", "list", token=token)
    return "Connected" in told.stdout, told.stdout + told.stderr


def codex_calls_the_tool(executable, home, room, token, trust):
    model = Model(REPORTED)
    try:
        app = Codex(executable, home, model.url)
        app.env |= trust
        app.run("mcp", "add", "prickle", "--url", room.mcp_url, "--bearer-token-env-var", "PRICKLE_TOKEN")
        calls, done = codex_calls.ask(app, token)
    finally:
        model.close()
    return [call["status"] for call in calls] == ["completed"], (calls, done.stderr[-400:])


def grok_finds_the_tools(executable, home, room, token, trust):
    app = Grok(executable, home, NOBODY)
    app.env |= trust
    app.run("mcp", "add", "--transport", "http", "prickle", room.mcp_url,
            "--header", "Authorization: Bearer ${PRICKLE_TOKEN}", token=token)
    told = app.run("mcp", "doctor", "prickle", token=token)
    return "2 tools discovered" in told.stdout, told.stdout + told.stderr


APPS = (
    ("claude", claude_code, claude_connects, "NODE_EXTRA_CA_CERTS"),
    ("codex", codex, codex_calls_the_tool, "CODEX_CA_CERTIFICATE"),
    ("grok", grok, grok_finds_the_tools, "SSL_CERT_FILE"),
)


def main():
    readme = Path(sys.argv[2] if len(sys.argv) > 2 else README).read_text(encoding="utf-8")
    checks, ran = Checks(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cert, key = certificate(readme, folder)
        # Grok's takes the place of the machine's list: in one file they both count.
        machine = ssl.get_default_verify_paths().cafile
        both = folder / "both.pem"
        both.write_text((Path(machine).read_text(encoding="utf-8") if machine else "") + cert.read_text(encoding="utf-8"))
        with Room(sys.argv[1], "--tls-cert", str(cert), "--tls-key", str(key), trust=cert) as room:
            for app, install, works, variable in APPS:
                try:
                    executable = install()
                except CannotInstall as why:
                    print(f"skipped: {app} was not run against an encrypted room: {why}")
                    continue
                ran += 1
                token = room.agent_key(app)
                checks.that(f"the README tells of {variable} for {app}", variable in readme, "it does not")
                held, seen = works(executable, folder / f"{app}-stranger", room, token, {})
                checks.that(f"{app} sends nothing to a room that it can't trust", not held, seen)
                file = both if variable == "SSL_CERT_FILE" else cert
                held, seen = works(executable, folder / app, room, token, {variable: str(file)})
                checks.that(f"{app} trusts it by {variable}", held, seen)
            _, _, snapshot = room.ask(f"/v1/projects/{PROJECT}/pulse")
            told = [pulse["agent_id"].split("/")[1] for pulse in snapshot["pulses"]]
            checks.that("a pulse came that way", "codex" in told or ran < len(APPS), told)
    return checks.finish() if ran else 0


if __name__ == "__main__":
    sys.exit(main())
