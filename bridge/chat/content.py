"""Content parts of Responses → those of Chat Completions; what the chat schema cannot carry becomes a note."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, dump
from bridge.ledger import Ledger, Rule

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
NOTE_LENGTH = 200


def lower_content(content: JSON, path: str, ledger: Ledger) -> str | list[JSON]:
    """The content of a message or an output → a string where it is all text, else parts."""
    if isinstance(content, str):
        return content
    parts = [_lower_part(part, path, ledger) for part in as_objects(content)]
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    if len(texts) == len(parts):
        return joined([as_text(text) for text in texts])
    return list[JSON](parts)


def joined(texts: list[str]) -> str:
    """Texts that stood in parts of their own → one text, in which they stay apart."""
    text = ""
    for piece in texts:
        text += ("\n" if text and piece and not text.endswith("\n") else "") + piece
    return text


def _lower_part(part: Object, path: str, ledger: Ledger) -> Object:
    kind = as_text(part.get("type"))
    if kind in _TEXTS:
        return {"type": "text", "text": as_text(part.get("text"))}
    if kind == "refusal":
        return {"type": "text", "text": as_text(part.get("refusal"))}
    if kind == "input_image" and as_text(part.get("image_url")):
        detail = as_text(part.get("detail")) or "auto"
        # `original` is Codex's own word (0.171); the chat schema knows low, high and auto.
        shown = "high" if detail == "original" else detail
        return {"type": "image_url", "image_url": {"url": part["image_url"], "detail": shown}}
    if kind == "input_file" and (part.get("file_data") or part.get("file_id")):
        kept = ("file_data", "file_id", "filename")
        return {"type": "file", "file": {key: part[key] for key in kept if part.get(key)}}
    if kind == "input_audio":
        return {"type": "input_audio", "input_audio": as_object(part.get("input_audio"))}
    ledger.add(Rule.NOTED, f"content part {kind}", path, warning="chat cannot carry it; a note stands there")
    return {"type": "text", "text": f"[{kind}: {dump(part)[:NOTE_LENGTH]}]"}
