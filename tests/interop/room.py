"""A real room for a test: starts the given `prickle` binary, makes keys with it, reads its snapshot."""

import json
import os
import queue
import ssl
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

PROJECT = "website-v2"
OWNER = "ada"
SCHEMAS = Path(__file__).resolve().parents[2] / "src" / "wire" / "schema"
START_SECONDS = 30


def schema(name):
    """One of the published schemas, as the source tree has it; dicts keep the file's key order."""
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def difference(left, right, at=""):
    """Where two JSON values first differ, the order of every object's keys included; "" where they don't."""
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            return f"{at or 'top level'}: keys {list(left)}, not {list(right)}"
        parts = [(f"{at}.{key}", left[key], right[key]) for key in left]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        parts = [(f"{at}[{n}]", *pair) for n, pair in enumerate(zip(left, right))]
    else:
        # By text, so that 1, 1.0 and true are three different things.
        return "" if json.dumps(left) == json.dumps(right) else f"{at or 'top level'}: {left!r}, not {right!r}"
    return next(filter(None, (difference(a, b, where) for where, a, b in parts)), "")


def _pass_on(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put("(its output ended)")


def _address(lines):
    """The room's URL, from the first line that it prints."""
    try:
        first = lines.get(timeout=START_SECONDS).strip()
    except queue.Empty:
        first = f"nothing within {START_SECONDS} s"
    if not first.startswith(("listening on http://127.0.0.1:", "listening on https://127.0.0.1:")):
        raise RuntimeError(f"the room did not say where it listens, but: {first}")
    return first.removeprefix("listening on ")


class Room:
    """`prickle serve` on a free loopback port with a database in a temporary folder. A context manager.

    `arguments` are more for `serve`. A room with a certificate is asked under `trust`, a file with its issuer's.
    """

    def __init__(self, binary, *arguments, trust=None):
        self._trust = trust and ssl.create_default_context(cafile=trust)
        self.binary = str(Path(binary).resolve())
        self._arguments = arguments
        self._folder = tempfile.TemporaryDirectory(prefix="prickle-interop-")
        self.folder = Path(self._folder.name)
        self.db = self.folder / "room.db"
        self._process = None

    def __enter__(self):
        self._log = open(self.folder / "room.log", "w", encoding="utf-8")
        self._process = subprocess.Popen(
            [self.binary, "serve", "--addr", "127.0.0.1:0", "--db", str(self.db), *self._arguments],
            env=self._env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )
        lines = queue.Queue()
        # Read on in the background: a room that prints more must not block on a full pipe.
        threading.Thread(target=_pass_on, args=(self._process.stdout, lines), daemon=True).start()
        try:
            self.url = _address(lines)
            self.mcp_url = f"{self.url}/mcp"
            self.reader = self.key("person", "--owner", OWNER)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if kind is not None:
            self.show_log()
        self._log.close()
        self._folder.cleanup()

    def show_log(self):
        lines = (self.folder / "room.log").read_text(encoding="utf-8", errors="replace").splitlines()
        print("--- the room's log, last lines ---", *lines[-20:], sep="\n")

    def _env(self):
        return {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "PRICKLE_HOME": str(self.folder / "home")}

    def key(self, kind, *whose):
        """A new token of the kind; `whose` is `--agent OWNER/NAME` or `--owner OWNER`."""
        made = subprocess.run(
            [self.binary, "key", "create", "--kind", kind, *whose, "--project", PROJECT, "--db", str(self.db)],
            env=self._env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_SECONDS,
        )
        if made.returncode != 0:
            raise RuntimeError(f"key create ended with {made.returncode}: {made.stderr.strip()}")
        return made.stdout.strip()

    def agent_key(self, name):
        return self.key("client", "--agent", f"{OWNER}/{name}")

    def ask(self, path, token=None, post=None):
        """Status, headers and parsed JSON of a GET, or of a POST of `post`; a refusal's body stays text."""
        headers = {"Authorization": f"Bearer {token or self.reader}"}
        if post is not None:
            headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        data = None if post is None else json.dumps(post).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=self._trust) as reply:
                return reply.status, reply.headers, json.load(reply)
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers, refused.read().decode()

    def pulse(self, name):
        """What the room shows for one agent of the test's owner, or None."""
        _, _, snapshot = self.ask(f"/v1/projects/{PROJECT}/pulse")
        return next((p for p in snapshot["pulses"] if p["agent_id"] == f"{OWNER}/{name}"), None)


class Checks:
    """Counts what held and what did not; one printed line each."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, what, holds, otherwise=""):
        """`otherwise` is what was seen, printed only where the check fails."""
        if holds:
            self.passed += 1
            print(f"ok      {what}")
        else:
            self.failed += 1
            seen = str(otherwise)
            print(f"FAILED  {what}: {seen if len(seen) < 600 else seen[:600] + '…'}")
        return bool(holds)

    def equal(self, what, got, wanted):
        """Holds where both are the same JSON with the same order of keys."""
        unlike = difference(got, wanted)
        return self.that(what, not unlike, unlike)

    def run(self, room, *steps):
        """Runs each step to its end or its first exception; shows the room's log where something failed."""
        for step in steps:
            try:
                step()
            except Exception as error:  # noqa: BLE001 (one failed step must not hide the others)
                self.that("runs to its end", False, f"{type(error).__name__}: {error}")
        if self.failed:
            room.show_log()

    def finish(self):
        """Prints the closing line and gives the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1
