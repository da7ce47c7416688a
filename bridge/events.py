"""Stream events made by the bridge: each function returns the events of one thing, without sequence numbers."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.jsonvalue import JSON, Object, as_objects, as_text


def added(item: Object, index: int) -> Object:
    """An item is announced."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: Object, index: int) -> Object:
    """An item is finished: here Codex runs a call."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def input_delta(item_id: str, index: int, delta: str) -> Object:
    """A piece of a payload."""
    return {"type": "response.custom_tool_call_input.delta", "item_id": item_id, "output_index": index, "delta": delta}


def input_done(item_id: str, index: int, payload: str) -> Object:
    """A payload is whole."""
    return {"type": "response.custom_tool_call_input.done", "item_id": item_id, "output_index": index, "input": payload}


def ended(kind: str, response: Object) -> Object:
    """A terminal event."""
    return {"type": kind, "response": response}


def response_events(response: Object) -> Iterator[Object]:
    """A whole response → the events that would have streamed it."""
    items = as_objects(response.get("output"))
    begun: Object = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(items):
        yield from item_events(item, index)
    status = as_text(response.get("status"))
    yield ended(f"response.{'incomplete' if status == 'incomplete' else 'completed'}", response)


def item_events(item: Object, index: int) -> Iterator[Object]:
    """A whole item → the events that would have streamed it."""
    where: Object = {"item_id": as_text(item.get("id")), "output_index": index}
    match item.get("type"):
        case "message":
            yield added({**item, "status": "in_progress", "content": []}, index)
            yield from _parts(item.get("content"), where)
        case "function_call":
            yield added({**item, "status": "in_progress", "arguments": ""}, index)
            arguments: Object = {**where, "type": "response.function_call_arguments.done"}
            yield {**where, "type": "response.function_call_arguments.delta", "delta": item.get("arguments")}
            yield {**arguments, "arguments": item.get("arguments")}
        case "reasoning":
            yield added({**item, "summary": [], "content": []}, index)
            yield from _reasoning(item, where)
        case _:
            yield added(item, index)
    yield done(item, index)


def _parts(content: JSON, where: Object) -> Iterator[Object]:
    for position, part in enumerate(as_objects(content)):
        place: Object = {**where, "content_index": position}
        if part.get("type") == "output_text":
            text: Object = {**place, "logprobs": []}
            yield {**place, "type": "response.content_part.added", "part": {**part, "text": "", "annotations": []}}
            yield {**text, "type": "response.output_text.delta", "delta": part.get("text")}
            yield {**text, "type": "response.output_text.done", "text": part.get("text")}
        else:
            yield {**place, "type": "response.content_part.added", "part": part}
        yield {**place, "type": "response.content_part.done", "part": part}


def _reasoning(item: Object, where: Object) -> Iterator[Object]:
    for position, part in enumerate(as_objects(item.get("summary"))):
        place: Object = {**where, "summary_index": position}
        event = "response.reasoning_summary_"
        yield {**place, "type": f"{event}part.added", "part": {**part, "text": ""}}
        yield {**place, "type": f"{event}text.delta", "delta": part.get("text")}
        yield {**place, "type": f"{event}text.done", "text": part.get("text")}
        yield {**place, "type": f"{event}part.done", "part": part}
    for position, part in enumerate(as_objects(item.get("content"))):
        place = {**where, "content_index": position}
        yield {**place, "type": "response.reasoning_text.delta", "delta": part.get("text")}
        yield {**place, "type": "response.reasoning_text.done", "text": part.get("text")}
