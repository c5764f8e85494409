"""The two common Python MCP clients against a real room: `python3 python_clients.py PATH/TO/prickle`.

Plain `mcp` in each of its ways to connect (it chooses, the old handshake, the 2026-07-28 revision)
and `fastmcp`. Run by any Python from 3.11; it makes itself an environment with both clients.
"""

import asyncio
import datetime
import json
import os
import sys
import uuid
from pathlib import Path

from install import CannotInstall, python_environment
from room import OWNER, PROJECT, Checks, Room, schema

TOOLS = ("update_pulse", "report_run")
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
DOING_LIMIT = 200


def into_environment():
    """Starts this script again under the environment's interpreter; returns only where it can't be made."""
    try:
        python = python_environment()
    except CannotInstall as why:
        print(f"skipped: the Python MCP clients were not run: {why}")
        sys.exit(0)
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


if os.environ.get("PRICKLE_INTEROP_INSIDE") != "yes":
    os.environ["PRICKLE_INTEROP_INSIDE"] = "yes"
    into_environment()

import fastmcp  # noqa: E402
import httpx2  # noqa: E402
import jsonschema  # noqa: E402
import mcp  # noqa: E402
from fastmcp.client.transports import StreamableHttpTransport  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402


class Plain:
    """`mcp.Client`: one connection in the given mode."""

    def __init__(self, room, token, mode):
        self._http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20)
        self._client = mcp.Client(streamable_http_client(room.mcp_url, http_client=self._http), mode=mode)

    async def __aenter__(self):
        await self._http.__aenter__()
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *why):
        await self._client.__aexit__(*why)
        await self._http.__aexit__(*why)

    @property
    def version(self):
        return self._client.protocol_version

    async def tools(self):
        return (await self._client.list_tools()).tools

    async def call(self, tool, arguments):
        return await self._client.call_tool(tool, arguments)


class Fast:
    """`fastmcp.Client`: one connection in the given mode."""

    def __init__(self, room, token, mode):
        transport = StreamableHttpTransport(room.mcp_url, headers={"Authorization": f"Bearer {token}"})
        self._client = fastmcp.Client(transport, mode=mode, timeout=20)

    async def __aenter__(self):
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *why):
        await self._client.__aexit__(*why)

    @property
    def version(self):
        return self._client.protocol_version

    async def tools(self):
        return (await self._client.list_tools_mcp()).tools

    async def call(self, tool, arguments):
        return await self._client.call_tool_mcp(tool, arguments)

    async def typed(self, tool, arguments):
        """The result as the object that fastmcp builds from the output schema."""
        return (await self._client.call_tool(tool, arguments)).data


CLIENTS = (
    ("mcp-auto", Plain, "auto", MODERN),
    ("mcp-legacy", Plain, "legacy", HANDSHAKE),
    ("mcp-modern", Plain, MODERN, MODERN),
    ("fastmcp-auto", Fast, "auto", MODERN),
    ("fastmcp-legacy", Fast, "legacy", HANDSHAKE),
)


def check_tools(checks, name, tools):
    listed = {tool.name: tool for tool in tools}
    checks.that(f"{name}: lists exactly {' and '.join(TOOLS)}", sorted(listed) == sorted(TOOLS), sorted(listed))
    for tool in (listed[known] for known in TOOLS if known in listed):
        checks.equal(f"{name}: {tool.name} input schema, key order too",
                     tool.input_schema, schema(f"{tool.name}.input.json"))
        checks.equal(f"{name}: {tool.name} output schema, key order too",
                     tool.output_schema, schema(f"{tool.name}.output.json"))
        hints = tool.annotations
        said = hints and (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        checks.that(f"{name}: {tool.name} says all four hints", said == (False, False, True, False), said)
        checks.that(f"{name}: {tool.name} has a description", bool(tool.description))


def check_result(checks, what, result, output):
    """A success: structured, valid by the schema, and the same again as one JSON text. Gives the structure."""
    if not checks.that(f"{what} succeeds", not result.is_error, texts(result)):
        return None
    checks.that(f"{what}: the result validates", jsonschema.Draft202012Validator(schema(output)).is_valid(
        result.structured_content), result.structured_content)
    try:
        text = json.loads(texts(result))
    except ValueError:
        text = texts(result)
    checks.that(f"{what}: the text block is the same JSON", text == result.structured_content, text)
    return result.structured_content


def texts(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def check_pulses(checks, room, name, client):
    report = {
        "project": PROJECT,
        "availability": "online",
        "doing": f"Naming the columns, für {name} \u2192 ok",
        "task_id": "T-1",
        "branch": "feat/columns",
        "files": ["src/columns.rs", "docs/sp ace.md"],
        "last_decision": "One table, not two.",
        "intent": {"kind": "rename", "paths": ["src/columns/**"], "areas": ["columns"]},
    }
    result = check_result(checks, f"{name}: update_pulse", await client.call("update_pulse", report), "update_pulse.output.json")
    if result is None:
        return
    pulse = result["pulse"]
    for field in ("project", "availability", "doing", "task_id", "branch", "files", "last_decision"):
        checks.that(f"{name}: {field} comes back as sent", pulse[field] == report[field], pulse[field])
    intent = {key: value for key, value in pulse["intent"].items() if key != "expires_at"}
    checks.that(f"{name}: the intent comes back as sent", intent == report["intent"], intent)
    checks.that(f"{name}: the agent is the token's", pulse["agent_id"] == f"{OWNER}/{name}", pulse["agent_id"])
    checks.that(f"{name}: the room shows that pulse", room.pulse(name) == pulse, room.pulse(name))

    # A report replaces the whole pulse: what it leaves out is back at its default.
    short = {"project": PROJECT, "doing": ""}
    result = check_result(checks, f"{name}: a bare update_pulse", await client.call("update_pulse", short), "update_pulse.output.json")
    if result is not None:
        bare = result["pulse"]
        kept = [key for key in ("task_id", "branch", "last_decision") if bare[key] is not None]
        checks.that(f"{name}: what a report leaves out falls back",
                    not kept and bare["files"] == [] and bare["availability"] == "working" and "intent" not in bare, bare)
        checks.that(f"{name}: the room shows the bare pulse", room.pulse(name) == bare, room.pulse(name))


async def check_runs(checks, room, name, client):
    report = {
        "project": PROJECT, "run_id": str(uuid.uuid4()).upper(), "task_id": "T-1", "input_tokens": 1200,
        "output_tokens": 0, "turns": None, "duration_ms": 91000, "exit_code": 0,
    }
    result = check_result(checks, f"{name}: report_run", await client.call("report_run", report), "report_run.output.json")
    if result is None:
        return
    record = result["run"]
    wanted = {**report, "run_id": report["run_id"].lower(), "source": "client_reported"}
    got = {key: value for key, value in record.items() if key != "reported_at"}
    checks.that(f"{name}: the record is the report, unknown and zero kept apart", got == wanted, got)
    again = await client.call("report_run", report)
    checks.that(f"{name}: the same report again is the same record",
                not again.is_error and again.structured_content == result, again.structured_content)
    other = await client.call("report_run", {**report, "exit_code": 1})
    checks.that(f"{name}: another report under that run_id is a tool error that names it",
                other.is_error and "run_id" in texts(other), texts(other))
    _, _, page = room.ask("/v1/runs?limit=1000")
    stored = [run for run in page["runs"] if run["run_id"] == record["run_id"]]
    checks.that(f"{name}: the owner reads that run once, as first reported",
                len(stored) == 1 and stored[0] == {**record, "agent_id": stored[0]["agent_id"]}, stored)


async def check_refusals(checks, room, name, client):
    before = room.pulse(name)
    long = await client.call("update_pulse", {"project": PROJECT, "doing": "x" * (DOING_LIMIT + 1)})
    said = texts(long)
    checks.that(f"{name}: a fault is a tool error that names the field and its limit",
                long.is_error and "doing" in said and str(DOING_LIMIT) in said, said)
    checks.that(f"{name}: a tool error comes without a structured result", long.structured_content is None,
                long.structured_content)
    two = await client.call("update_pulse", {"project": PROJECT, "doing": "x", "availability": "busy", "branch": None})
    said = texts(two)
    checks.that(f"{name}: two faults are both named", two.is_error and "availability" in said and "branch" in said, said)
    checks.that(f"{name}: a refused call stores nothing", room.pulse(name) == before, room.pulse(name))
    try:
        answer = await client.call("no_such_tool", {})
        checks.that(f"{name}: an unknown tool is a protocol error", False, answer)
    except MCPError as error:
        checks.that(f"{name}: an unknown tool is protocol error -32602", error.error.code == -32602, error.error)


async def check_bad_token(checks, room, name, kind, mode):
    # Some calls are needed where a mode connects without asking: 2026-07-28 has no handshake.
    try:
        async with kind(room, "prk_" + "A" * 43, mode) as client:
            await client.tools()
        checks.that(f"{name}: a bad token gets nothing", False, "the tools were listed")
    except Exception as error:  # noqa: BLE001 (each client has its own way to say it)
        told = f"{type(error).__name__}: {error}"
        checks.that(f"{name}: a bad token gets nothing", "timeout" not in told.lower(), told)


async def check_client(checks, room, name, kind, mode, version):
    async with kind(room, room.agent_key(name), mode) as client:
        checks.that(f"{name}: speaks {version}", client.version == version, client.version)
        check_tools(checks, name, await client.tools())
        await check_pulses(checks, room, name, client)
        await check_runs(checks, room, name, client)
        await check_refusals(checks, room, name, client)
        if isinstance(client, Fast):
            typed = await client.typed("update_pulse", {"project": PROJECT, "doing": "typed"})
            checks.that(f"{name}: the output schema becomes a typed object",
                        isinstance(typed.pulse.updated_at, datetime.datetime) and typed.pulse.doing == "typed", typed)
    await check_bad_token(checks, room, name, kind, mode)


def check_sign_in(checks, room):
    bad = "prk_" + "B" * 43
    for what, path, post in (
        ("the snapshot", f"/v1/projects/{PROJECT}/pulse", None),
        ("the MCP endpoint", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ):
        status, headers, body = room.ask(path, bad, post)
        checks.that(f"{what} answers a bad token with 401 and the scheme to use",
                    status == 401 and headers.get("WWW-Authenticate", "").startswith("Bearer"), (status, headers.items()))
        checks.that(f"{what} refuses in words and does not repeat the token", body.strip() and bad not in body, body)


async def main(binary):
    checks = Checks()
    with Room(binary) as room:
        for name, kind, mode, version in CLIENTS:
            try:
                await check_client(checks, room, name, kind, mode, version)
            except Exception as error:  # noqa: BLE001 (one client's failure must not hide the others)
                checks.that(f"{name}: runs to its end", False, f"{type(error).__name__}: {error}")
        check_sign_in(checks, room)
        if checks.failed:
            room.show_log()
    return checks.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: python_clients.py PATH/TO/prickle")
    sys.exit(asyncio.run(main(sys.argv[1])))
