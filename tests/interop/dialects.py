"""The three ways in which agent apps talk to model services, as far as a scripted answer needs them.

Each class is one API: which path it is asked at, which tool results a request brings back, and how a
turn is put, whole or as the events of a stream. A turn is {"type": "text", "text": ...} or a tool call
{"name": ..., "input": ...}; "number" is how many tool results the conversation holds already.
"""

import json


class Messages:
    """Anthropic Messages, spoken by Claude Code."""

    PATH = "/v1/messages"

    @staticmethod
    def results(body):
        """(text, is it an error) of each tool result in the request, oldest first."""
        for block in Messages.blocks(body, "tool_result"):
            content = block["content"]
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
            yield text, bool(block.get("is_error"))

    @staticmethod
    def blocks(body, kind):
        """All content blocks of one kind in a request's messages, oldest first."""
        for message in body.get("messages", []):
            if isinstance(message.get("content"), list):
                yield from (block for block in message["content"] if block.get("type") == kind)

    @staticmethod
    def answer(body, turn, number):
        is_text = turn.get("type") == "text"
        return {
            "id": f"msg_scripted_{number:02d}", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": [turn if is_text else {"type": "tool_use", "id": f"toolu_scripted_{number:02d}", **turn}],
            "stop_reason": "end_turn" if is_text else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                      "output_tokens": 7},
        }

    @staticmethod
    def events(message):
        block = message["content"][0]
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        for event in (
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": message["usage"]},
            {"type": "message_stop"},
        ):
            yield event["type"], json.dumps(event)


class Responses:
    """OpenAI Responses, spoken by Codex. A tool of an MCP server is called with its "namespace" besides."""

    PATH = "/v1/responses"

    @staticmethod
    def results(body):
        """(text, None) of each tool result in the request: this API does not mark errors."""
        for item in body.get("input", []):
            if item.get("type") == "function_call_output":
                output = item["output"]
                yield (output if isinstance(output, str) else json.dumps(output)), None

    @staticmethod
    def answer(body, turn, number):
        if turn.get("type") == "text":
            text = {"type": "output_text", "text": turn["text"], "annotations": []}
            item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [text]}
        else:
            call = {**turn, "arguments": json.dumps(turn["input"])}
            del call["input"]
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", **call}
        return {
            "id": f"resp_{number}", "object": "response", "created_at": 0, "model": body.get("model"),
            "status": "completed", "output": [{**item, "status": "completed"}],
            "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18},
        }

    @staticmethod
    def events(response):
        item = response["output"][0]
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        for number, event in enumerate((
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        )):
            yield event["type"], json.dumps({**event, "sequence_number": number})


class Chat:
    """OpenAI chat completions, spoken by Grok."""

    PATH = "/v1/chat/completions"

    @staticmethod
    def results(body):
        """(text, None) of each tool result in the request: this API does not mark errors."""
        for message in body.get("messages", []):
            if message.get("role") == "tool":
                content = message["content"]
                yield (content if isinstance(content, str) else json.dumps(content)), None

    @staticmethod
    def answer(body, turn, number):
        if turn.get("type") == "text":
            message, reason = {"role": "assistant", "content": turn["text"]}, "stop"
        else:
            function = {"name": turn["name"], "arguments": json.dumps(turn["input"])}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        return {
            "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }

    @staticmethod
    def events(answer):
        chunk = {**answer, "object": "chat.completion.chunk"}
        usage = chunk.pop("usage")
        choice = answer["choices"][0]
        for choices in (
            [{"index": 0, "delta": choice["message"], "finish_reason": None}],
            [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}],
        ):
            yield None, json.dumps({**chunk, "choices": choices})
        yield None, json.dumps({**chunk, "choices": [], "usage": usage})
        yield None, "[DONE]"
