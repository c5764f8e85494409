"""A proxy for clients that can't be given a token: adds the Authorization header, changes nothing else.

The room has no switch to do without a token, and gets none for a test. Request lines, headers (Host and
Origin among them) and bodies go to the room byte for byte, its answers come back untouched, unread.
"""

import socket
import threading

HEAD_LIMIT = 64 * 1024
CHUNK = 64 * 1024


class Proxy:
    """Has a free port of 127.0.0.1 from construction on; serves from `lead_to` until `close`."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def lead_to(self, room_url, token):
        host, port = room_url.removeprefix("http://").rsplit(":", 1)
        self._room = (host, int(port))
        self._added = f"Authorization: Bearer {token}\r\n".encode()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # A blocked accept would outlive a mere close.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(self._room) as room:
            threading.Thread(target=_pump, args=(room, client), daemon=True).start()
            incoming = client.makefile("rb")
            try:
                while (head := _head(incoming)) is not None:
                    line, rest = head.split(b"\r\n", 1)
                    room.sendall(line + b"\r\n" + self._added + rest)
                    for part in _body(incoming, rest.lower()):
                        room.sendall(part)
                room.shutdown(socket.SHUT_WR)
                # What the room still has to say goes out before the connection does.
                while incoming.read(CHUNK):
                    pass
            except OSError:
                pass


def _pump(source, target):
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _head(incoming):
    """A request's line and headers with the empty line after them; None where no further request comes."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = incoming.readline(HEAD_LIMIT)
        if not line or len(head) > HEAD_LIMIT:
            return None
        head += line
    return head


def _body(incoming, headers):
    """The body that these (lower-case) headers announce, piece by piece as it came."""
    if b"transfer-encoding: chunked" in headers:
        while True:
            size = incoming.readline(HEAD_LIMIT)
            # The last chunk is empty; both kinds end with a line end of their own.
            yield size + incoming.read(int(size.split(b";")[0], 16)) + incoming.readline(HEAD_LIMIT)
            if int(size.split(b";")[0], 16) == 0:
                return
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip() == b"content-length":
            left = int(value)
            while left:
                part = incoming.read(min(left, CHUNK))
                if not part:
                    return
                left -= len(part)
                yield part
