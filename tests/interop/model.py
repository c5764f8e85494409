"""A stand-in for a model service: speaks the Anthropic Messages API on loopback and follows a script.

The agent app under test is real; only the model behind it is this. Each turn of the script is one
content block, either {"type": "text", ...} or a tool call {"name": ..., "input": ...}. The turn to
play is the number of tool results that the conversation already holds, so a repeated request gets
the same answer. Every request body is kept, which is how a test sees what reached the model.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7}


def blocks(body, kind):
    """All content blocks of one kind in a request's messages, oldest first."""
    for message in body.get("messages", []):
        if isinstance(message.get("content"), list):
            yield from (block for block in message["content"] if block.get("type") == kind)


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

    def answer(self, body):
        """The content block that the script has for this request."""
        self.requests.append(body)
        done = sum(1 for _ in blocks(body, "tool_result"))
        # Side requests (a title for the conversation, say) come without tools: no part of the script.
        if not body.get("tools") or done >= len(self.script):
            return {"type": "text", "text": "Done."}
        turn = self.script[done]
        if turn.get("type") == "text":
            return turn
        return {"type": "tool_use", "id": f"toolu_scripted_{done:02d}", **turn}


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
            if path != "/v1/messages":
                return self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": path}})
            block = model.answer(body)
            stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
            message = {
                "id": f"msg_scripted_{len(model.requests):02d}",
                "type": "message",
                "role": "assistant",
                "model": body.get("model"),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": USAGE,
            }
            if not body.get("stream"):
                return self._json(200, {**message, "content": [block], "stop_reason": stop})
            return self._stream(message, block, stop)

        def do_GET(self):
            self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

        def _json(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, message, block, stop):
            if block["type"] == "text":
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for event in (
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": USAGE},
                {"type": "message_stop"},
            ):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    return Handler
