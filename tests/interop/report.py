"""The one report that each scripted model sends, and how the room must show it."""

from room import OWNER, PROJECT

REPORT = {
    "project": PROJECT,
    "doing": "Moving the hero copy into its own component.",
    "branch": "feat/hero",
    "files": ["src/hero.tsx", "src/page.tsx"],
    "intent": {"kind": "change", "paths": ["src/hero.tsx"], "areas": ["landing-page"]},
}
DOING_LIMIT = 200
TOO_LONG = {**REPORT, "doing": "x" * (DOING_LIMIT + 1)}


def check_shown(checks, room, agent):
    """The room shows this agent with what REPORT says."""
    pulse = room.pulse(agent) or {}
    shown = {key: value for key, value in pulse.items() if key not in ("updated_at", "intent")}
    checks.that("the room shows what the model sent, the rest at its default", shown == {
        "agent_id": f"{OWNER}/{agent}", "owner": OWNER, "project": PROJECT, "availability": "working",
        "doing": REPORT["doing"], "task_id": None, "branch": REPORT["branch"], "files": REPORT["files"],
        "last_decision": None,
    }, shown)
    intent = {key: value for key, value in pulse.get("intent", {}).items() if key != "expires_at"}
    checks.that("and its intent", intent == REPORT["intent"], intent)


def check_refused(checks, room, agent, before, results):
    """A report of TOO_LONG changed nothing, and the model got one text that names the field and the limit."""
    checks.that("its text reaches the model, with the field and the limit",
                len(results) == 1 and "doing" in results[0] and str(DOING_LIMIT) in results[0], results)
    checks.that("it stores nothing", room.pulse(agent) == before, room.pulse(agent))
