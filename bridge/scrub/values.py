"""JSON values → the same shapes with nothing in them but known words, stand-ins and filler.

What is kept is listed, what is replaced is not: a field that nobody thought of is scrubbed as prose. One `Scrubber`
serves a whole recording, so that an id or a name has the same stand-in wherever it comes up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.blob import is_ciphertext, seal, unseal
from bridge.carried import Carried
from bridge.jsonvalue import JSON, as_text
from bridge.scrub.redact import redact
from bridge.scrub.text import SHORT_NUMBER, digits, fill, fill_json
from bridge.scrub.words import ID_PREFIXES, NAMES, WORDS

_IDS = frozenset({"id", "prompt_cache_key", "user", "safety_identifier"})
_METADATA = ("client_metadata", "metadata")
_PREFIXED = re.compile(rf"((?:{'|'.join(ID_PREFIXES)})[_-]).+", re.DOTALL)
_PART = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_VERSION = 3
"""Digits that a name may have and keep, if it has letters too: gpt-5.5 is no address."""
_DIGITS = 4
"""The least digits of an id."""
_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""One pixel."""
_FILE = "data:application/octet-stream;base64,AAAA"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Scrubber:
    """Stand-ins are given in the order in which things come up, so that scrubbing twice is scrubbing once."""

    prose: bool = False
    """Whether instructions, descriptions, grammars and messages stay, but for what looks personal in them."""
    payloads: bool = False
    """Whether what calls and outputs hold stays, likewise."""
    known: set[str] = field(default_factory=set)
    """What must not stay in text that is kept: keys and cookies that a header of the flow held."""
    flat_names: Mapping[str, str] = field(default_factory=dict)
    """Flat names of the tools of the flow at hand → theirs after scrubbing."""
    _ids: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _given: dict[int, int] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)

    def body(self, value: JSON) -> JSON:
        """A body, or an event of a stream."""
        return self._walk(value, "", is_payload=False)

    def identity(self, value: str) -> str:
        """An id → its stand-in, of the same length if that can be, with the prefix that says of what it is the id."""
        if not value:
            return value
        if value not in self._ids:
            prefixed = _PREFIXED.fullmatch(value)
            prefix = prefixed.group(1) if prefixed else ""
            self._ids[value] = f"{prefix}{len(self._ids) + 1:0{max(_DIGITS, len(value) - len(prefix))}d}"
        return self._ids[value]

    def name(self, value: str) -> str:
        """A name → itself if it is known, else each of its parts → a stand-in of the same length."""
        if value in WORDS:
            return value
        keeps_digits = digits(value) <= _VERSION and any(map(str.isalpha, value))
        return self.flat_names.get(value) or _PART.sub(lambda part: self._part(part.group(), keeps_digits), value)

    def text(self, value: str, *, is_payload: bool) -> str:
        """Text → filler of the same length; known words stay in what a call or an output holds."""
        if self.payloads if is_payload else self.prose:
            return redact(value, self._known())
        return fill(value, WORDS if is_payload else frozenset())

    def arguments(self, value: str) -> str:
        """The JSON text of a function call's arguments, whole or broken."""
        return redact(value, self._known()) if self.payloads else fill_json(value, self.name)

    def _walk(self, value: JSON, key: str, *, is_payload: bool) -> JSON:
        if isinstance(value, dict):
            within = is_payload or "call" in _PART.findall(as_text(value.get("type"))) or value.get("role") == "tool"
            if key in _METADATA:
                return {self.name(name): self._metadatum(entry, name) for name, entry in value.items()}
            return {self.name(name): self._walk(entry, name, is_payload=within) for name, entry in value.items()}
        if isinstance(value, list):
            return [self._entry(entry, key, is_payload) for entry in value]
        if isinstance(value, str):
            return self._string(value, key, is_payload)
        return self._number(value)

    def _entry(self, value: JSON, key: str, is_payload: bool) -> JSON:
        """An entry of a list, where a number can be a letter: the bytes of a text, the tokens of a prompt."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return 0 if is_number else self._walk(value, key, is_payload=is_payload)

    def _metadatum(self, value: JSON, key: str) -> JSON:
        return self.identity(value) if isinstance(value, str) else self._walk(value, key, is_payload=False)

    def _string(self, value: str, key: str, is_payload: bool) -> str:
        if key == "token" and not is_payload:
            return fill(value)  # of a list of probabilities, which repeats the text token by token
        if value in WORDS:
            return value
        if key in _IDS or key.endswith(("_id", "-id")):
            return self.identity(value)
        if key in NAMES:
            return self.name(value)
        if key == "arguments":
            return self.arguments(value)
        if key == "encrypted_content":
            return self._blob(value)
        if value.startswith("data:"):  # kept by nobody's wish: what a picture shows cannot be looked through
            return _PICTURE if value.startswith("data:image/") else _FILE
        return self.text(value, is_payload=is_payload or key == "message")

    def _blob(self, value: str) -> str:
        if carried := Carried.unpack(value):
            extras = {
                self.identity(call): self._walk(entry, "", is_payload=False) for call, entry in carried.extras.items()
            }
            details = tuple(self._walk(entry, "", is_payload=False) for entry in carried.details)
            return Carried(self.text(carried.text, is_payload=False), details, extras).pack()
        if (sealed := unseal(value)) is not None:
            return seal(self.text(sealed, is_payload=False))
        if is_ciphertext(value):
            return self._ids.setdefault(value, f"gAAAA{len(self._ids) + 1:04d}")
        return self.text(value, is_payload=True)

    def _number(self, value: bool | float | None) -> JSON:
        if isinstance(value, bool) or value is None or digits(repr(value)) <= SHORT_NUMBER:
            return value
        if isinstance(value, float):
            return 0.5
        return self._numbers.setdefault(value, 1_000_001 + len(self._numbers))

    def _part(self, part: str, keeps_digits: bool) -> str:
        if part in WORDS or (keeps_digits and part.isdecimal() and part.isascii()):
            return part
        if part not in self._names:
            self._names[part] = self._next(len(part))
        return self._names[part]

    def _next(self, length: int) -> str:
        """The next free stand-in of that length: aaa, aab, …; a longer one when all are given."""
        while True:
            number = self._given[length] = self._given.get(length, -1) + 1
            if number >= len(_LETTERS) ** min(length, 6):
                return self._next(length + 1)
            places = range(min(length, 6) - 1, -1, -1)
            stand_in = "".join(_LETTERS[number // 26**place % 26] for place in places).rjust(length, "a")
            if stand_in not in WORDS:
                return stand_in

    def _known(self) -> dict[str, str]:
        """What text that is kept can repeat → what stands there then, of the same length."""
        words = {word: fill(word) for word in self.known}
        for value, stand_in in self._ids.items():
            if len(value) > SHORT_NUMBER:
                words[value] = stand_in if len(stand_in) == len(value) else fill(value)
        return words
