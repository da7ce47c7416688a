"""Where two JSON values differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any

from bridge.jsonvalue import JSON, dump


def first_difference(old: JSON, new: JSON, path: str = "") -> str | None:
    """The path of the first difference (`tools[3].function.name`), in the order of the old value; None if equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{path}.{key}" if path else key
            if key not in old or key not in new:
                return here
            if found := first_difference(old[key], new[key], here):
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            if found := first_difference(one, other, f"{path}[{index}]"):
                return found
        return None if len(old) == len(new) else f"{path}[{min(len(old), len(new))}]"
    return None if type(old) is type(new) and old == new else path or "(whole)"


MISSING: Any = object()
"""In place of a value on the side that has none."""

_MOST_COMPARED = 40_000
"""Pairs of entries up to which two lists are aligned; longer ones are compared place by place."""


@dataclass(frozen=True)
class Change:
    """A place where two values differ; the path of a list's entry counts in the list that has it."""

    path: str
    old: Any
    new: Any


def changes(old: JSON, new: JSON, path: str = "") -> Iterator[Change]:
    """Every place where two values differ, in the order of the old one; equal entries of lists are aligned."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{path}.{key}" if path else key
            if key not in old or key not in new:
                yield Change(here, old.get(key, MISSING), new.get(key, MISSING))
            else:
                yield from changes(old[key], new[key], here)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(old, new, path)
    elif type(old) is not type(new) or old != new:
        yield Change(path or "(whole)", old, new)


def _list_changes(old: list[JSON], new: list[JSON], path: str) -> Iterator[Change]:
    for start, end, new_start, new_end in _differing(old, new):
        paired = min(end - start, new_end - new_start)
        for offset in range(paired):
            yield from changes(old[start + offset], new[new_start + offset], f"{path}[{start + offset}]")
        for index in range(start + paired, end):
            yield Change(f"{path}[{index}]", old[index], MISSING)
        for index in range(new_start + paired, new_end):
            yield Change(f"{path}[{index}]", MISSING, new[index])


def _differing(old: list[JSON], new: list[JSON]) -> list[tuple[int, int, int, int]]:
    """(start, end) in the old list and (start, end) in the new one of each run that differs."""
    if len(old) == len(new):
        return [(0, len(old), 0, len(new))]
    texts = [[dump(entry) for entry in entries] for entries in (old, new)]
    head = _same(*texts)
    tail = min(_same(*(entries[::-1] for entries in texts)), min(len(old), len(new)) - head)
    ends = len(old) - tail, len(new) - tail
    if (ends[0] - head) * (ends[1] - head) > _MOST_COMPARED:
        return [(head, ends[0], head, ends[1])]
    middle = [entries[head:end] for entries, end in zip(texts, ends, strict=True)]
    codes = SequenceMatcher(a=middle[0], b=middle[1], autojunk=False).get_opcodes()
    return [tuple(place + head for place in places) for tag, *places in codes if tag != "equal"]  # type: ignore[misc]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many entries are the same from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
