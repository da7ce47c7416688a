"""The wrapper `{"input": "…"}` around a payload: put on, taken off whole, taken off as it arrives.

Rules of taking it off:

1. The parameter's own key wins. From the quote that opens its string the payload streams; nothing is held back but an
   escape or a surrogate pair that is not complete yet. What is wrong after that is named and never changes the payload.
2. Exactly one layer comes off.
3. A text that breaks off before its first JSON value ends is truncated, whatever it held.
4. Only a text in which the key never came as a string is up to the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bridge.jsonscan import Member, Scanner, decode_string, pair
from bridge.jsonvalue import dump

DEFAULT_PARAMETER = "input"


class Malformed(StrEnum):
    """What becomes of arguments in which the parameter's key never came as a string."""

    SALVAGE = "salvage"
    RAW = "raw"


_NAMED = 4
"""Keys that a defect names."""


@dataclass(frozen=True)
class Unwrapped:
    """What arguments held: the payload, the part of it that no `feed` returned, and what was wrong, in words.

    The payload of a `truncated` text is only what arrived: no call may be made of it.
    """

    payload: str
    tail: str
    defect: str = ""
    truncated: bool = False


def wrap(payload: str, parameter: str = DEFAULT_PARAMETER) -> str:
    """Payload → arguments."""
    return dump({parameter: payload})


def unwrap(arguments: str, parameter: str = DEFAULT_PARAMETER, policy: Malformed = Malformed.SALVAGE) -> Unwrapped:
    """Arguments → payload, whole."""
    unwrapper = Unwrapper(parameter)
    unwrapper.feed(arguments)
    return unwrapper.finish(policy)


def breaks_off(arguments: str) -> bool:
    """Whether arguments are JSON as far as they go, and end before their first value does."""
    scanner = Scanner(None)
    scanner.feed(arguments)
    return scanner.incomplete and not scanner.values


class Unwrapper:
    """Arguments → payload, as they arrive."""

    def __init__(self, parameter: str) -> None:
        self._parameter = parameter
        self._scanner = Scanner(parameter)
        self._text: list[str] = []
        self._payload: list[str] = []
        self._high = ""

    def feed(self, text: str) -> str:
        """The next piece of the arguments → the next piece of the payload, often empty."""
        self._text.append(text)
        piece = pair(self._high + self._scanner.feed(text))
        self._high = ""
        if piece and _is_high(piece[-1]) and self._scanner.open:
            piece, self._high = piece[:-1], piece[-1]
        self._payload.append(piece)
        return piece

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self._text)

    @property
    def payload(self) -> str:
        """The payload so far, as `feed` returned it."""
        return "".join(self._payload)

    def finish(self, policy: Malformed = Malformed.SALVAGE) -> Unwrapped:
        """The arguments are all there."""
        scanner = self._scanner
        if scanner.incomplete and not (scanner.values and scanner.found and not scanner.open):
            return Unwrapped(self.payload, "", truncated=True)
        if scanner.found:
            return Unwrapped(self.payload, "", self._defect())
        payload, defect = _decide(self.text, scanner, self._parameter, policy)
        return Unwrapped(payload, payload, defect)

    def _defect(self) -> str:
        """What was wrong around a payload that came under its own key."""
        scanner = self._scanner
        extra = list(dict.fromkeys(member.key for member in scanner.members if member.key != self._parameter))
        found = [
            "text after the payload is not JSON" if scanner.broken or scanner.dangling or scanner.incomplete else "",
            f"extra keys: {', '.join(extra[:_NAMED])}" if extra else "",
            "more than one JSON value" if len(scanner.values) > 1 else "",
            "the key more than once" if len(scanner.values) < 2 and self._repeats() else "",
            "unknown escapes, kept as written" if scanner.odd_escapes else "",
        ]
        return ", ".join(filter(None, found))

    def _repeats(self) -> bool:
        return sum(member.key == self._parameter for member in self._scanner.members) > 1


def _decide(text: str, scanner: Scanner, parameter: str, policy: Malformed) -> tuple[str, str]:
    """Arguments without the key as a string → the payload, and what was wrong with them."""
    if not text.strip():
        return "", "empty arguments"
    if scanner.broken or not scanner.values:
        return text, "not JSON, delivered as it came"
    sources = {text[start:end] for start, end in scanner.values}
    source = sources.pop()
    if not sources and source.startswith("{") and not scanner.members:
        return "", "an empty object"
    if policy is Malformed.SALVAGE and not sources:
        members = scanner.members[: len(scanner.members) // len(scanner.values)]
        if (salvaged := _salvage(text, source, members, parameter)) is not None:
            return salvaged
    return text, f"no string under {parameter!r}, delivered as it came"


def _salvage(text: str, source: str, members: list[Member], parameter: str) -> tuple[str, str] | None:
    """One JSON value → the payload that was meant, where there is one reading only."""
    if source.startswith('"'):
        return pair(decode_string(source)), "a bare JSON string"
    for member in members:
        if member.key == parameter:
            return text[member.start : member.end], f"{parameter!r} is not a string, delivered as its JSON text"
    strings = [member for member in members if member.is_string]
    if len(strings) == 1:
        payload = pair(decode_string(text[strings[0].start : strings[0].end]))
        return payload, f"{strings[0].key!r} in place of {parameter!r}"
    return None


def _is_high(char: str) -> bool:
    return "\ud800" <= char <= "\udbff"
