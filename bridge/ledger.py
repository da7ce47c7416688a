"""The ledger of one exchange: one entry for each rule that fired, in the order it fired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from bridge.jsonvalue import JSON, Object

PATHS_KEPT = 20
"""Paths that one entry remembers; its count goes on."""


LONGEST_WHAT, LONGEST_WARNING = 80, 300
"""Characters that an entry shows."""


class Rule(StrEnum):
    """The word of each rule, as it stands in `bridge_rules` and in the log."""

    DECODED = "decoded"
    HOISTED = "hoisted"
    FLATTENED = "flattened"
    LOWERED = "lowered"
    GRAMMAR = "grammar"
    DROPPED = "dropped"
    CLEANED = "cleaned"
    CHOICE = "choice"
    REPLAYED = "replayed"
    NOTED = "noted"
    MERGED = "merged"
    ORPHAN = "orphan"
    IMAGES = "images"
    COMPLETED = "completed"
    COMPACTED = "compacted"
    STRIPPED = "stripped"
    SET = "set"
    LIFTED = "lifted"
    RESTORED = "restored"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    UNKNOWN = "unknown"
    CONVERTED = "converted"
    FAILED = "failed"
    PLAYED = "played"


DECLARED = (Rule.GRAMMAR, Rule.DROPPED, Rule.IMAGES, Rule.PLAYED)
"""Rules that warn of what is the same in every turn of a session."""


@dataclass
class Entry:
    """One rule that fired: on what, how often, where; `warning` is a sentence for people, or empty."""

    rule: Rule
    what: str = ""
    count: int = 0
    paths: list[str] = field(default_factory=list)
    warning: str = ""
    answering: bool = False

    def data(self) -> Object:
        """The entry as plain data."""
        paths: list[JSON] = list(self.paths)
        side = "response" if self.answering else "request"
        return {
            "side": side,
            "rule": str(self.rule),
            "what": self.what,
            "count": self.count,
            "paths": paths,
            "warning": self.warning,
        }


class Ledger:
    """What happened to one request and, once it is `answering`, to its response."""

    def __init__(self) -> None:
        self.answering = False
        self._entries: dict[tuple[bool, Rule, str, str], Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def add(self, rule: Rule, what: str = "", path: str = "", count: int = 1, warning: str = "") -> None:
        """Note that `rule` fired; the same rule on the same thing adds to its entry.

        Words of a model's or a client's own are cut short and shown in one line.
        """
        entry = self._entries.get((self.answering, rule, what, warning)) or self._entry(rule, what, warning)
        entry.count += count
        if path and len(entry.paths) < PATHS_KEPT:
            entry.paths.append(path)

    def _entry(self, rule: Rule, what: str, warning: str) -> Entry:
        what, warning = _plain(what, LONGEST_WHAT), _plain(warning, LONGEST_WARNING)
        entry = Entry(rule, what, warning=warning, answering=self.answering)
        return self._entries.setdefault((self.answering, rule, what, warning), entry)

    def rules(self) -> list[str]:
        """The words of the rules that fired, each once, in order."""
        return list(dict.fromkeys(str(entry.rule) for entry in self))

    def warnings(self) -> list[Entry]:
        """The entries that carry a warning."""
        return [entry for entry in self if entry.warning]

    def lost(self) -> bool:
        """Whether this one exchange failed or warned, and not of what every turn of its kind declares."""
        return any(entry.rule is Rule.FAILED or (entry.warning and entry.rule not in DECLARED) for entry in self)

    def data(self) -> list[JSON]:
        """The ledger as plain data, for a flow's metadata."""
        return [entry.data() for entry in self]


NAMED_AT_MOST = 4


def _plain(text: str, longest: int) -> str:
    shown = text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def summary(ledger: Ledger) -> str:
    """One line for people: `hoisted 9, flattened 9, lowered 1 (exec) → lifted 1 (exec), 2 warnings`."""
    asked = _tallies([entry for entry in ledger if not entry.answering]) or "nothing to lower"
    answered = _tallies([entry for entry in ledger if entry.answering]) or "nothing to lift"
    warnings = sum(entry.count for entry in ledger.warnings())
    return f"{asked} → {answered}" + (f", {warnings} warning{'s' if warnings > 1 else ''}" if warnings else "")


def _tallies(entries: list[Entry]) -> str:
    rules = dict.fromkeys(entry.rule for entry in entries)
    return ", ".join(_tally(rule, [entry for entry in entries if entry.rule is rule]) for rule in rules)


def _tally(rule: Rule, entries: list[Entry]) -> str:
    names = list(dict.fromkeys(entry.what for entry in entries if entry.what))
    shown = ", ".join(names[:NAMED_AT_MOST]) + (", …" if len(names) > NAMED_AT_MOST else "")
    return f"{rule} {sum(entry.count for entry in entries)}" + (f" ({shown})" if shown else "")
