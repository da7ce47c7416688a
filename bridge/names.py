"""The one name table of an exchange: (namespace, name) ↔ the flat name that the backend sees.

Codex's default namespace `functions` and no namespace are one: its tools keep their bare names and are restored
without a namespace. Others join as `<namespace>__<name>`. A flat name is at most 64 characters of `[A-Za-z0-9_-]`;
what would be longer, illegal or shared gets a readable stem and a hash of the tool's own (namespace, name), so that
it depends neither on the order of the declarations nor on the process.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

DEFAULT_NAMESPACE = "functions"
LONGEST = 64
JOINT = "__"
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_HASH_DIGITS = 8


class Kind(StrEnum):
    """What the client declared a tool as."""

    FUNCTION = "function"
    CUSTOM = "custom"
    TOOL_SEARCH = "tool_search"


type Key = tuple[str, str]
"""(namespace, name), the namespace empty for the default one."""


def key(namespace: str, name: str) -> Key:
    """The identity of a tool."""
    return ("" if namespace == DEFAULT_NAMESPACE else namespace, name)


@dataclass(frozen=True)
class Tool:
    """One declared tool and its flat name."""

    kind: Kind
    namespace: str
    name: str
    flat: str


class NameTable:
    """Flat names for the tools that one request declares, and the way back from whatever a model calls them."""

    def __init__(self, declared: Iterable[tuple[Kind, str, str]]) -> None:
        """`declared`: (kind, namespace, name) of each callable tool, each identity once."""
        declared = list(declared)
        flats = _flats([key(namespace, name) for _, namespace, name in declared])
        self.tools = [
            Tool(kind, namespace, name, flats[(namespace, name)])
            for kind, (namespace, name) in ((kind, key(namespace, name)) for kind, namespace, name in declared)
        ]
        self._by_key = {(tool.namespace, tool.name): tool for tool in self.tools}
        self._by_flat = {tool.flat: tool for tool in self.tools}

    @cached_property
    def _by_guess(self) -> dict[str, Tool]:
        return _guesses(self.tools)

    def flatten(self, namespace: str, name: str) -> str:
        """(namespace, name) → flat name; the same rule for a tool that is declared no more."""
        wanted = key(namespace, name)
        tool = self._by_key.get(wanted) or (None if wanted[0] else self._spelled(name))
        return tool.flat if tool else _flats([wanted], taken=frozenset(self._by_flat))[wanted]

    def restore(self, flat: str, namespace: str = "") -> Tool | None:
        """What a model called → the declared tool: by flat name, by `ns.name`, by a leaf that only one tool has."""
        if namespace and (tool := self._by_key.get(key(namespace, flat))):
            return tool
        return self._by_flat.get(flat) or self._by_guess.get(flat)

    def _spelled(self, name: str) -> Tool | None:
        """A name in a history that is a flat name, or that can only be a misspelt one."""
        return self._by_flat.get(name) or (None if _LEGAL.fullmatch(name) else self._by_guess.get(name))

    def find(self, namespace: str, name: str) -> Tool | None:
        """The tool that is declared as exactly (namespace, name)."""
        return self._by_key.get(key(namespace, name))

    def data(self) -> list[list[str]]:
        """The table as plain data: `[kind, namespace, name]` a tool."""
        return [[str(tool.kind), tool.namespace, tool.name] for tool in self.tools]

    @classmethod
    def from_data(cls, rows: Iterable[Iterable[str]]) -> NameTable:
        """The table that `data` describes."""
        return cls((Kind(kind), namespace, name) for kind, namespace, name in rows)


def _guesses(tools: list[Tool]) -> dict[str, Tool]:
    """Spellings that models use beside the flat name, where they fit one tool only."""
    spellings: dict[str, list[Tool]] = {}
    for tool in tools:
        namespace = tool.namespace or DEFAULT_NAMESPACE
        for spelling in {f"{namespace}.{tool.name}", f"{namespace}{JOINT}{tool.name}", tool.name}:
            spellings.setdefault(spelling, []).append(tool)
    return {spelling: found[0] for spelling, found in spellings.items() if len(found) == 1}


def _flats(keys: list[Key], taken: frozenset[str] = frozenset()) -> dict[Key, str]:
    """One legal name for each key. Bare legal names are never moved; a shared joined name is shared by nobody."""
    wanted = {each: _joined(*each) for each in keys}
    shared = Counter(wanted.values())
    flats = {each: name for each, name in wanted.items() if not each[0] and _LEGAL.fullmatch(name)}
    flats = {each: name for each, name in flats.items() if name not in taken}
    used = set(taken) | set(flats.values())
    joined = {each: name for each, name in wanted.items() if each not in flats and _LEGAL.fullmatch(name)}
    flats |= {each: name for each, name in joined.items() if shared[name] == 1 and name not in used}
    used |= set(flats.values())
    for each in wanted:
        if each not in flats:
            flats[each] = _hashed(each, used)
            used.add(flats[each])
    return flats


def _joined(namespace: str, name: str) -> str:
    return f"{namespace}{JOINT}{name}" if namespace else name


def _hashed(tool: Key, used: set[str]) -> str:
    """A readable stem, the leaf kept before the namespace, and a hash that no used name has."""
    namespace, name = (_ILLEGAL.sub("_", part) for part in tool)
    digest = hashlib.sha256("\0".join(tool).encode("utf-8", "surrogatepass")).hexdigest()
    digits = _HASH_DIGITS
    while True:
        room = LONGEST - digits - 1
        leaf = name[:room]
        head = namespace[: max(0, room - len(leaf) - len(JOINT))]
        flat = f"{_joined(head, leaf)}_{digest[:digits]}"
        if flat not in used:
            return flat
        digits += 1
