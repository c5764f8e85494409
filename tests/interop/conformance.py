"""The MCP project's own conformance suite against a real room: `python3 conformance.py PATH/TO/prickle`.

The scenarios that a server with two tools and nothing else can meet, for both revisions that the room
speaks. The suite sends no token, so it goes through proxy.py. Left out: scenarios that need the suite's
own tools, resources or prompts (they fail by design), and those that then pass without a check.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from install import CannotInstall, mcp_tools
from proxy import Proxy
from room import Checks, Room

RUN_SECONDS = 120
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"

# Checks that can't pass: status, what the suite's message says, why that is right.
NO_SESSIONS = ("WARNING", "", "the room keeps no sessions, so a client outlives its restart")
NO_FIXTURE = ("FAILURE", "Not testable", "it calls a diagnostic tool of the suite's own")
NO_METHOD = ("FAILURE", "-32601", "the room offers tools only: no prompts, no resources")
NOT_OFFERED = ("SKIPPED", "", "the room offers no resources and nothing to subscribe to")

# Per revision and scenario: how many checks must pass, and which can't. Notes of the suite (INFO) count as
# neither. Nothing else may come, nothing may be missing.
SCENARIOS = {
    HANDSHAKE: {
        "server-initialize": (2, {}),
        "ping": (2, {}),
        "tools-list": (3, {}),
        "dns-rebinding-protection": (2, {}),
        "server-sse-multiple-streams": (0, {"server-sse-multiple-streams-session": NO_SESSIONS}),
        "server-sse-polling": (0, {"server-sse-polling-session": NO_SESSIONS}),
    },
    MODERN: {
        "tools-list": (4, {}),
        "dns-rebinding-protection": (2, {}),
        "http-header-validation": (14, {}),
        "server-sse-multiple-streams": (1, {}),
        "server-stateless": (21, {
            "sep-2575-server-rejects-undeclared-capability": NO_FIXTURE,
            "sep-2575-missing-capability-http-400": NO_FIXTURE,
            "sep-2575-http-server-no-independent-requests-on-stream": NO_FIXTURE,
            "sep-2575-server-no-log-without-loglevel": NO_FIXTURE,
            "sep-2575-server-sends-subscription-ack": NOT_OFFERED,
            "sep-2575-server-tags-subscription-id": NOT_OFFERED,
            "sep-2575-server-honors-notification-filter": NOT_OFFERED,
            "sep-2575-server-sends-prompts-list-changed-on-subscription": NOT_OFFERED,
            "sep-2575-server-sends-tools-list-changed-on-subscription": NOT_OFFERED,
        }),
        "caching": (4, {
            "sep-2549-prompts-list-caching-hints": NO_METHOD,
            "sep-2549-resources-list-caching-hints": NO_METHOD,
            "sep-2549-resources-templates-list-caching-hints": NO_METHOD,
            "sep-2549-resources-read-caching-hints": NOT_OFFERED,
        }),
    },
}


def results(command, url, revision, scenario, folder):
    """Every check that the suite reports for a scenario; the suite's output where it reports none."""
    out = Path(tempfile.mkdtemp(dir=folder))
    done = subprocess.run(
        [*command, "server", "--url", url, "--scenario", scenario, "--spec-version", revision, "--output-dir", str(out)],
        cwd=out, env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS,
    )
    found = [check for file in out.rglob("checks.json") for check in json.loads(file.read_text(encoding="utf-8"))]
    return found, done.stdout + done.stderr


def check_scenario(checks, found, output, name, passing, exceptions):
    if not checks.that(f"{name}: the suite reports checks", found, output):
        return
    counts = Counter(check["status"] for check in found)
    checks.that(f"{name}: passing checks: {passing}", counts["SUCCESS"] == passing, counts)
    others = {check["id"]: (check["status"], check.get("errorMessage") or "") for check in found
              if check["status"] not in ("SUCCESS", "INFO")}
    for known, (status, words, why) in exceptions.items():
        got, message = others.pop(known, (None, ""))
        checks.that(f"{name}: {known} is {status}: {why}", got == status and words in message, (got, message))
    checks.that(f"{name}: no other check fails, warns or is skipped", not others, others)


def main(binary):
    try:
        _, command = mcp_tools()
    except CannotInstall as why:
        print(f"skipped: the MCP conformance suite was not run: {why}")
        return 0
    checks = Checks()
    proxy = Proxy()
    # The suite plays a web page on this machine too, which a room turns away unless it was told to trust it.
    with Room(binary, "--allow-origin", proxy.url) as room:
        proxy.lead_to(room.url, room.agent_key("conformance"))

        def step(revision, scenario, expected):
            found, output = results(command, f"{proxy.url}/mcp", revision, scenario, room.folder)
            check_scenario(checks, found, output, f"{revision} {scenario}", *expected)

        checks.run(room, *(
            lambda revision=revision, scenario=scenario, expected=expected: step(revision, scenario, expected)
            for revision, scenarios in SCENARIOS.items() for scenario, expected in scenarios.items()
        ))
    proxy.close()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: conformance.py PATH/TO/prickle")
    sys.exit(main(sys.argv[1]))
