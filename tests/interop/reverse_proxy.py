"""A room behind the reverse proxies that the README names: `python3 reverse_proxy.py PATH/TO/prickle [README.md]`.

The proxies are real, and configured by the very text that the README gives its readers: only ports and
the certificate's files are put in its place. TLS ends at the proxy; the room is plain, on loopback.
"""

import contextlib
import http.client
import json
import os
import queue
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from certificate import NAME, README, certificate, put
from room import PROJECT, Checks, Room

SECONDS = 20
# Shorter than any proxy's own, longer than the pings' 10 seconds.
IDLE = 12


def fenced(text, language):
    """The one block of that language in a Markdown text."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise RuntimeError(f"the README has {len(found)} blocks of {language}, not one")
    return found[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(readme, folder, room, port):
    """The command that runs nginx in the foreground, one process, with everything in `folder`."""
    cert, key = certificate(readme, folder)
    site = put(
        fenced(readme, "nginx"), ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/room.pem", str(cert)), ("/etc/ssl/room.key", str(key)), ("http://127.0.0.1:7766", room.url),
    )
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}proxy_read_timeout {IDLE}s;\nproxy_send_timeout {IDLE}s;\n{site}}}\n",
        encoding="utf-8",
    )
    return ["nginx", "-p", str(folder), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]


def caddy(readme, folder, room, port):
    """The command that runs Caddy in the foreground; its certificate is ours instead of one that it fetches."""
    cert, key = certificate(readme, folder)
    words = re.search(rf"`({re.escape(NAME)} {{)` `(reverse_proxy \S+)` `(}})`", readme)
    if words is None:
        raise RuntimeError("the README does not say any more how Caddy is set up")
    site = put("\n".join(words.groups()), ("127.0.0.1:7766", room.url.removeprefix("http://")))
    names = f"https://{NAME}:{port}, https://localhost:{port} {{\nbind 127.0.0.1\ntls {cert} {key}"
    site = put(site, (f"{NAME} {{", names))
    (folder / "Caddyfile").write_text(f"{{\nadmin off\nauto_https disable_redirects\n}}\n{site}\n", encoding="utf-8")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@contextlib.contextmanager
def running(command, folder, port):
    """The proxy, once it takes connections; ended by its id."""
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder)}
    with open(folder / "said", "w", encoding="utf-8") as said:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            deadline = time.monotonic() + SECONDS
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} does not listen: {(folder / 'said').read_text()}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Client:
    """The real `prickle`, and plain requests, through the proxy."""

    def __init__(self, room, folder, port):
        self.room, self.folder, self.port = room, folder, port
        self.agent = room.agent_key("proxied")
        self._trust = ssl.create_default_context(cafile=folder / "cert.pem")

    def command(self, token, *args):
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "PRICKLE_HOME": str(self.folder / "home"),
               "PRICKLE_TOKEN": token}
        reach = ["--server", f"https://localhost:{self.port}", "--ca", str(self.folder / "cert.pem")]
        return {"args": [self.room.binary, *args, *reach], "env": env, "stdin": subprocess.DEVNULL, "text": True}

    def run(self, token, *args):
        return subprocess.run(**self.command(token, *args), capture_output=True, timeout=SECONDS)

    def ask(self, method, path, token, headers=None, body=None):
        """Status and text of a request under TLS for the room's public name."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.connect()
        connection.sock = self._trust.wrap_socket(connection.sock, server_hostname=NAME)
        headers = {"Host": NAME, "Authorization": f"Bearer {token}"} | (headers or {})
        connection.request(method, path, body=body, headers=headers)
        reply = connection.getresponse()
        with contextlib.closing(connection):
            return reply.status, reply.read().decode()

    def call(self, doing, **headers):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "update_pulse", "arguments": {"project": PROJECT, "doing": doing}}}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return self.ask("POST", "/mcp", self.agent, headers, json.dumps(body))


class Feed:
    """`prickle watch --json`: one line a frame, and what it says of losses on stderr."""

    def __init__(self, client):
        command = client.command(client.room.reader, "watch", PROJECT, "--json")
        self._process = subprocess.Popen(**command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._frames, self.losses = queue.Queue(), queue.Queue()
        for stream, lines in ((self._process.stdout, self._frames), (self._process.stderr, self.losses)):
            threading.Thread(target=lambda s=stream, q=lines: [q.put(line) for line in s], daemon=True).start()

    def frame(self):
        try:
            return json.loads(self._frames.get(timeout=SECONDS))
        except queue.Empty:
            return {"type": "nothing", "stderr": list(self.losses.queue)}

    def end(self):
        self._process.terminate()
        self._process.wait(timeout=SECONDS)


def checked(proxy, client, checks):
    def that(what, holds, otherwise=""):
        checks.that(f"{proxy}: {what}", holds, otherwise)

    once = client.run(client.room.reader, "watch", PROJECT, "--once", "--json")
    that("one look", once.returncode == 0 and json.loads(once.stdout)["project"] == PROJECT, once)
    feed = Feed(client)
    try:
        first = [feed.frame()["type"] for _ in range(3)]
        that("the feed opens", first == ["hello", "snapshot", "recent"], first)
        quiet_since = time.monotonic()
        told = client.run(client.agent, "pulse", "--project", PROJECT, "--doing", "through the proxy", "--json")
        that("an MCP call of prickle's", told.returncode == 0, told)
        frame = feed.frame()
        that("the feed tells it", frame.get("pulse", {}).get("doing") == "through the proxy", frame)

        status, text = client.call("by its name")
        that("an MCP call by the room's public name", status == 200 and '"isError":true' not in text, (status, text))
        that("the feed tells that too", feed.frame().get("pulse", {}).get("doing") == "by its name")
        status, text = client.call("never", Origin=f"https://{NAME}")
        that("a web page is refused", status == 403, (status, text))
        status, text = client.call("never", Host="evil.example")
        # Caddy serves no name but the one it was given, and answers by itself.
        that("a foreign name is refused", status == 403 or (proxy == "caddy" and text == ""), (status, text))
        doing = client.room.pulse("proxied")["doing"]
        that("nothing of either was stored", doing == "by its name", doing)
        status, _ = client.ask("GET", f"/v1/projects/{PROJECT}/feed", client.room.reader)
        that("a feed that asks for no upgrade is told so", status == 426, status)
        # Another key and another address each time, or so it says: to the room it is the proxy, 20 times a minute.
        guesses = [client.ask("GET", "/v1/me", f"prk_{n}", {"X-Forwarded-For": f"192.0.2.{n}"})[0] for n in range(30)]
        that("a guesser is slowed down, whoever it says it is", guesses[0] == 401 and guesses[-1] == 429, guesses)
        status, _ = client.ask("GET", "/v1/me", client.room.reader)
        that("a good key is not held up by that", status == 200, status)

        if proxy != "nginx":
            return  # no time-out of its own
        # Quiet for longer than it waits for a word: the pings are words.
        time.sleep(max(0.0, quiet_since + IDLE + 3 - time.monotonic()))
        client.call("after a quiet while")
        frame = feed.frame()
        same = frame.get("pulse", {}).get("doing") == "after a quiet while"
        that(f"the same feed lives after {IDLE} quiet seconds", same, frame)
        that("it was never lost", feed.losses.empty(), list(feed.losses.queue))
    finally:
        feed.end()


def main():
    readme = Path(sys.argv[2] if len(sys.argv) > 2 else README).read_text(encoding="utf-8")
    checks = Checks()
    proxies = [proxy for proxy in (nginx, caddy) if shutil.which(proxy.__name__)]
    for proxy in (nginx, caddy):
        if proxy not in proxies:
            print(f"skipped: the room behind {proxy.__name__}, which is not installed here")
    for proxy in proxies:
        with Room(sys.argv[1], "--allow-host", NAME) as room, tempfile.TemporaryDirectory() as name:
            folder, port = Path(name), free_port()
            with running(proxy(readme, folder, room, port), folder, port):
                checked(proxy.__name__, Client(room, folder, port), checks)
    return checks.finish() if proxies else 0


if __name__ == "__main__":
    sys.exit(main())
