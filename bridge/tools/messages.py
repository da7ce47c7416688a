"""Items that are no calls: messages, reasoning, what other agents said, and what only OpenAI's servers understand."""

from __future__ import annotations

from itertools import groupby

from bridge.blob import is_ciphertext
from bridge.carried import Carried
from bridge.jsonvalue import JSON, Object, as_objects, as_text, dump, without
from bridge.ledger import Ledger, Rule
from bridge.settings import Images
from bridge.tools.images import lower_message_images

NOTE_LENGTH = 200
"""Characters of a hosted call that its note shows."""


def user_message(text: str) -> Object:
    """Text → a message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def lower_message(item: Object, index: int, images: Images, ledger: Ledger) -> list[Object]:
    """A message → one that older backends take; an assistant message without content goes."""
    path = f"input[{index}]"
    if item.get("role") != "assistant":
        content = lower_message_images(item.get("content"), path, images, ledger)
        return [item if content is item.get("content") else {**item, "content": content}]
    parts = _joined(_parts(item.get("content")))
    if not any(map(_says_something, parts)):
        ledger.add(Rule.DROPPED, "empty assistant message", path)
        return []
    lowered = _assistant(item, index, parts)
    if lowered != item:
        ledger.add(Rule.COMPLETED, "assistant message", path)
    return [lowered]


def lower_reasoning(item: Object, path: str, ledger: Ledger, *, keep_own: bool = False) -> list[Object]:
    """Reasoning → its readable text only; without any it goes.

    llama.cpp answers 400 to a reasoning item whose `content` is missing or empty (2026-10), vLLM 0.32 to one with
    `encrypted_content`: where only a summary is readable, it stands in both places. The bridge's own
    `encrypted_content` is readable; with `keep_own` it stays, for the stage that made it.
    """
    sealed = as_text(item.get("encrypted_content"))
    carried = Carried.unpack(sealed) if sealed else None
    if carried and keep_own:
        return [item]
    if carried is None and item.get("encrypted_content"):
        ledger.add(Rule.DROPPED, "encrypted reasoning", path)
    summary, content = as_objects(item.get("summary")), as_objects(item.get("content"))
    told, thought = _text(summary), _text(content)
    text = (carried.text if carried else "") or told
    if not text and not thought:
        ledger.add(Rule.DROPPED, "empty reasoning", path)
        return []
    parts: list[JSON] = list[JSON](content) if thought else [{"type": "reasoning_text", "text": text}]
    return [{**without(item, "encrypted_content"), "summary": list[JSON](summary), "content": parts}]


def lower_agent_message(item: Object, path: str, ledger: Ledger) -> list[Object]:
    """What another agent said → a message of the user."""
    ledger.add(Rule.NOTED, "agent_message", path)
    content = item.get("content")
    whole: Object = {"text": content}
    parts = [whole] if isinstance(content, str) else as_objects(content)
    text = "\n".join(filter(None, (_agent_text(part) for part in parts)))
    return [user_message(text)] if text else []


def lower_hosted_call(item: Object, index: int, ledger: Ledger) -> list[Object]:
    """A call that OpenAI's servers made → a short note of the assistant."""
    path, kind = f"input[{index}]", as_text(item.get("type"))
    ledger.add(Rule.NOTED, kind, path)
    told = without(item, "type", "id", "status", "call_id")
    text = f"[{kind}: {dump(told)[:NOTE_LENGTH]}]" if told else f"[{kind}]"
    return [_assistant({"type": "message", "role": "assistant"}, index, [{"type": "output_text", "text": text}])]


def _text(parts: list[Object]) -> str:
    return "\n\n".join([as_text(part.get("text")) for part in parts]).strip()


def _parts(content: JSON) -> list[Object]:
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return as_objects(content)


def _joined(parts: list[Object]) -> list[Object]:
    """Text parts that follow one another → one part (vLLM 0.32 reads only the first of an assistant message)."""
    if len(parts) < 2:
        return parts
    joined: list[Object] = []
    for kind, group in groupby(parts, key=lambda part: part.get("type")):
        same = list(group)
        if kind == "output_text" and len(same) > 1:
            same = [{**same[0], "text": "".join(as_text(part.get("text")) for part in same)}]
        joined += same
    return joined


def _assistant(item: Object, index: int, parts: list[Object]) -> Object:
    """vLLM 0.16 demands `id`, `status` and `annotations` on a replayed assistant message."""
    content: list[JSON] = [
        {**part, "annotations": part.get("annotations") or []} if part.get("type") == "output_text" else part
        for part in parts
    ]
    return {
        **item,
        "type": "message",
        "id": as_text(item.get("id")) or f"msg_{index}",
        "status": as_text(item.get("status")) or "completed",
        "content": content,
    }


def _says_something(part: Object) -> bool:
    is_foreign = part.get("type") not in ("output_text", "refusal")
    return is_foreign or bool(as_text(part.get("text")).strip() or part.get("refusal"))


def _agent_text(part: Object) -> str:
    text = as_text(part.get("text")) or as_text(part.get("encrypted_content"))
    is_blob = part.get("type") == "encrypted_content" and is_ciphertext(text)
    return "[a message that cannot be read here]" if is_blob else text
