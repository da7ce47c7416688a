"""JSON text ↔ values, losslessly and strictly, and typed ways into a value of unknown shape.

The accessors never raise: a wrong type reads as empty, so that a rule looks only at the shapes it knows and leaves
the rest alone.
"""

from __future__ import annotations

import json
import math
import re

from pydantic_core import PydanticSerializationError, from_json, to_json

type JSON = bool | int | float | str | list[JSON] | dict[str, JSON] | None
type Object = dict[str, JSON]

MAX_DEPTH = 200
"""Objects and lists inside one another that are read: no request has a tenth of it. Python's own limit depends on its
version and on the stack, so what it refuses in one place it would let pass in another. Pydantic's reader has the same
limit, but for one more that is empty."""


class OutOfRangeError(ValueError):
    """A number that no double holds, so that it cannot be written as JSON again."""

    def __init__(self) -> None:
        super().__init__("a number is out of range")


def parse(data: bytes | str, *, unique: bool = False) -> JSON:
    """JSON text → value; `ValueError` for what is not JSON, not UTF-8, too deep, or beyond a double.

    `unique`: a key that an object has twice is an error, since two readers can read two different values.
    """
    if unique and isinstance(data, bytes) and (compact := _parse_compact(data)) is not None:
        return compact
    if isinstance(data, bytes):
        data = data.decode("utf-8")
    try:
        value: JSON = (_UNIQUE if unique else _DECODER).decode(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    # Few brackets cannot nest deeply: counting them spares most events the walk.
    if data.count("[") + data.count("{") > MAX_DEPTH and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _parse_compact(data: bytes) -> Object | None:
    """An object as Codex writes it, in two thirds of the time: written again it is the same bytes.

    So it has no key twice, no infinity and nothing else that would be lost; whatever is not the same, the slow way
    decides.
    """
    if not _COMPACT.match(data):
        return None
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError:
        return None
    return value if to_json(value) == data else None


def parse_quickly(data: bytes) -> JSON:
    """`parse` in a fifth of the time; a number beyond a double is an infinity, which only `dump` refuses.

    What pydantic's reader does not take, Python's decides: it knows lone surrogates.
    """
    try:
        return from_json(data, allow_inf_nan=False)  # type: ignore[no-any-return]
    except ValueError:
        return parse(data)


def read(body: bytes | None) -> JSON:
    """A body → its value; None for one that is not there, or not JSON."""
    try:
        return parse(body) if body else None
    except ValueError:
        return None


def read_object(body: bytes | None) -> Object:
    """A body → the object in it; empty for what is none."""
    return as_object(read(body))


def dump(value: JSON) -> str:
    """Value → compact JSON text that UTF-8 can carry; lone surrogates leave as escapes."""
    return dump_bytes(value).decode()


def dump_bytes(value: JSON) -> bytes:
    """Value → compact JSON in UTF-8; `OutOfRangeError` for an infinity."""
    try:
        text = to_json(value)
    except PydanticSerializationError:
        return _dump_slowly(value)
    return _dump_slowly(value) if b"Infinity" in text else text


def _dump_slowly(value: JSON) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise OutOfRangeError from None


def as_object(value: JSON) -> Object:
    """The object itself, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_objects(value: JSON) -> list[Object]:
    """The objects in a list, in order; empty for anything that is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def as_text(value: JSON) -> str:
    """The string itself, or an empty one."""
    return value if isinstance(value, str) else ""


def as_index(value: JSON) -> int | None:
    """An integer that is not a boolean, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def without(value: Object, *keys: str) -> Object:
    """A copy that lacks `keys`."""
    left = value.copy()
    for key in keys:
        left.pop(key, None)
    return left


_COMPACT = re.compile(rb'\{"[^"\\]*":[^\s]')
"""No blanks between tokens, at least in front."""
_TOO_DEEP = f"more than {MAX_DEPTH} objects and lists inside one another"


_NESTING = frozenset((dict, list))


def _is_too_deep(value: JSON) -> bool:
    level = [value] if type(value) in _NESTING else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            entry
            for node in level
            for entry in (node.values() if type(node) is dict else node)  # type: ignore[union-attr]
            if type(entry) in _NESTING
        ]
    return bool(level)


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is not JSON")


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(f"the number {literal} is out of range")
    return number


def _object(pairs: list[tuple[str, JSON]]) -> Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


_UNIQUE = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
