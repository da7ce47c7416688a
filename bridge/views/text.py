"""JSON values → lines for people, in the manner of YAML: real line ends, long prose folded with its length."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bridge.jsonvalue import JSON, Object, as_text, parse

FOLDED = 240
"""Characters of prose that are shown of more than `LONGEST_PROSE`."""
LONGEST_PROSE = 480
LONGEST_PAYLOAD, MOST_LINES = 20_000, 300
"""Characters and lines that are shown of a payload, an output, arguments."""
_PLAIN_WIDTH = 100
_DEEPEST = 60
"""Blanks of indentation up to which JSON in a text is opened up."""


def pretty(value: JSON, indent: str = "", *, payload: bool = False) -> Iterator[str]:
    """Any value → lines. `payload`: its strings are what a call or an output holds, and are shown longer."""
    if isinstance(value, dict):
        within = payload or _holds_payload(value)
        for key, entry in value.items():
            yield from _entry(_key(key), entry, key, indent, within)
    elif isinstance(value, list):
        for entry in value:
            yield from _listed(entry, indent, payload)
    else:
        yield from _entry("", value, "", indent, payload)


def entry(head: str, value: JSON, key: str) -> Iterator[str]:
    """`head` and a value that stands under `key` → lines."""
    yield from _entry(head, value, key, "", False)


def fold(text: str, width: int = 80) -> str:
    """Text → the start of it in one line, with its length where something is left out."""
    line = " ".join(text[: width * 4].split())
    if len(line) <= width and len(text) <= width * 4:
        return line
    return f"{line[:width]}… ({len(text):,} characters)"


def number(count: float) -> str:
    """12345 → `12,345`."""
    return f"{count:,}"


def _entry(head: str, value: JSON, key: str, indent: str, payload: bool) -> Iterator[str]:
    """`head` and what stands behind or below it."""
    lead = f"{indent}{head}:" if head else indent
    if isinstance(value, (dict, list)) and value:
        yield lead
        yield from pretty(value, indent + "  ", payload=payload)
    elif isinstance(value, str):
        yield from _string(lead, value, key, indent + "  ", payload)
    else:
        yield f"{lead} {json.dumps(value)}" if head else f"{indent}{json.dumps(value)}"


def _listed(value: JSON, indent: str, payload: bool) -> Iterator[str]:
    """An entry of a list: `- ` before its first line."""
    lines = pretty(value, indent + "  ", payload=payload)
    first = next(lines, f"{indent}  {{}}" if isinstance(value, dict) else f"{indent}  []")
    yield f"{indent}- {first[len(indent) + 2 :]}"
    yield from lines


def _string(lead: str, text: str, key: str, indent: str, payload: bool) -> Iterator[str]:
    if key == "arguments" and indent.count(" ") < _DEEPEST and (inside := _inside(text)):
        yield lead
        yield from pretty(inside, indent, payload=True)
        return
    kept, left = _cut(text, payload or key == "arguments")
    if "\n" not in kept and len(kept) <= _PLAIN_WIDTH and not left and kept.isprintable():
        yield f"{lead} {_quoted(kept)}" if lead.strip() else f"{lead}{_quoted(kept)}"
        return
    yield f"{lead} |" if lead.strip() else f"{lead}|"
    yield from (f"{indent}{_visible(line)}" for line in kept.split("\n"))
    if left:
        yield f"{indent}… {left}"


def _inside(text: str) -> JSON:
    """The object in JSON text, to be shown as what it is."""
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _cut(text: str, payload: bool) -> tuple[str, str]:
    """Text → what is shown, and how much is left out."""
    if not payload:
        return (text, "") if len(text) <= LONGEST_PROSE else (text[:FOLDED], f"{number(len(text))} characters")
    kept = "\n".join(text[:LONGEST_PAYLOAD].split("\n", MOST_LINES)[:MOST_LINES])
    if len(kept) == len(text):
        return text, ""
    return kept, f"{number(len(text))} characters, {number(text.count('\n') + 1)} lines"


def _visible(line: str) -> str:
    """A carriage return and other controls are shown, not obeyed."""
    return line if line.isprintable() else "".join(char if char.isprintable() else _escape(char) for char in line)


def _escape(char: str) -> str:
    return "\t" if char == "\t" else json.dumps(char)[1:-1]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(key: str) -> str:
    return key if key.replace("_", "a").replace("-", "a").isalnum() else _quoted(key)


def _holds_payload(value: Object) -> bool:
    """Whether an object is a call, an output, or a message of a tool."""
    kind = as_text(value.get("type"))
    return value.get("role") == "tool" or kind.endswith(("_call", "_call_output"))
