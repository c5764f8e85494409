"""A stand-in for a model service: speaks the APIs of dialects.py on loopback and follows a script.

The agent app under test is real; only the model behind it is this. Each turn of the script is a text
or a tool call (see dialects.py). The turn to play is the number of tool results that the conversation
already holds, so a repeated request gets the same answer. Every request body is kept, which is how a
test sees what reached the model.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dialects import Chat, Messages, Responses

DIALECTS = {dialect.PATH: dialect for dialect in (Messages, Responses, Chat)}
DONE = {"type": "text", "text": "Done."}


class Model:
    """The service, listening on a free port of 127.0.0.1 from construction until `close`."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _bind(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, dialect, body):
        """What the script has for this request, put in the dialect."""
        self.requests.append(body)
        done = sum(1 for _ in dialect.results(body))
        # Side requests (a title for the conversation, say) come without tools: no part of the script.
        scripted = body.get("tools") and done < len(self.script)
        return dialect.answer(body, self.script[done] if scripted else DONE, done)


def _bind(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            path = self.path.split("?")[0]
            if path.endswith("/count_tokens"):
                return self._json(200, {"input_tokens": 100})
            dialect = DIALECTS.get(path)
            if dialect is None:
                return self._not_found()
            answer = model.answer(dialect, body)
            return self._stream(dialect.events(answer)) if body.get("stream") else self._json(200, answer)

        def do_GET(self):
            if self.path.endswith("/models"):
                one = {"id": "stand-in", "object": "model", "created": 0, "owned_by": "nobody"}
                return self._json(200, {"object": "list", "data": [one]})
            return self._not_found()

        def _not_found(self):
            self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

        def _json(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, events):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for name, data in events:
                named = f"event: {name}\n" if name else ""
                self.wfile.write(f"{named}data: {data}\n\n".encode())

    return Handler
