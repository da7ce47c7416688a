"""Fields of a request by path: what strict backends refuse, and what Codex never sends."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, dump
from bridge.ledger import Ledger, Rule
from bridge.settings import BodyEntry, Settings, StripEntry

EACH = "[]"


def settle(body: Object, settings: Settings, ledger: Ledger) -> Object:
    """The request as it is sent: stripped, under the model's other name, with what is added."""
    stripped = strip(body, settings.strip, ledger)
    if settings.model and stripped.get("model") != settings.model:
        ledger.add(Rule.SET, "model", "model")
        stripped = {**stripped, "model": settings.model}
    return assign(stripped, settings.body, ledger)


def strip(body: Object, entries: tuple[StripEntry, ...], ledger: Ledger) -> Object:
    """The request without what `bridge_strip` names; an object that it empties goes too."""
    for entry in entries:
        stripped, count = _strip(body, entry.path, entry.only)
        if count:
            assert isinstance(stripped, dict)
            body = stripped
            ledger.add(Rule.STRIPPED, show(entry.path), show(entry.path), count)
    return body


def assign(body: Object, entries: tuple[BodyEntry, ...], ledger: Ledger) -> Object:
    """The request with what `bridge_body` adds."""
    for entry in entries:
        assigned = _assign(body, entry.path, entry)
        if not _same(assigned, body):
            assert isinstance(assigned, dict)
            body = assigned
            ledger.add(Rule.SET, show(entry.path), show(entry.path))
    return body


def show(path: tuple[str, ...]) -> str:
    """`("input", "[]", "phase")` → `input[].phase`."""
    return ".".join(path).replace("." + EACH, EACH)


def _strip(value: JSON, path: tuple[str, ...], only: tuple[JSON, ...]) -> tuple[JSON, int]:
    """The value without the path, and how many fields went; the value itself if none did."""
    head, rest = path[0], path[1:]
    if head == EACH and isinstance(value, list):
        if rest and rest[0] != EACH and not any(isinstance(entry, dict) and rest[0] in entry for entry in value):
            return value, 0
        entries = [_strip(entry, rest, only) if rest else (entry, 0) for entry in value]
        count = sum(went for _, went in entries)
        return ([entry for entry, _ in entries], count) if count else (value, 0)
    if not isinstance(value, dict) or head not in value:
        return value, 0
    others: Object = {key: entry for key, entry in value.items() if key != head}
    if not rest:
        gone = not only or any(_same(value[head], single) for single in only)
        return (others, 1) if gone else (value, 0)
    inner, count = _strip(value[head], rest, only)
    if not count:
        return value, 0
    return (others if inner == {} else {**value, head: inner}), count


def _same(value: JSON, other: JSON) -> bool:
    """Equal as JSON: `true` is not `1`."""
    return dump(value) == dump(other)


def _assign(value: JSON, path: tuple[str, ...], entry: BodyEntry) -> JSON:
    head, rest = path[0], path[1:]
    if head == EACH:
        return [_assign(each, rest, entry) for each in value] if isinstance(value, list) and rest else value
    if not isinstance(value, dict):
        return value
    if rest:
        inner = value.get(head)
        if inner is None and rest[0] == EACH:
            return value
        return {**value, head: _assign({} if inner is None else inner, rest, entry)}
    return value if head in value and not entry.always else {**value, head: entry.value}
