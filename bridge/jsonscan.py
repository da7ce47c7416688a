"""A scanner that follows JSON text as it arrives, and hands out one watched string while it is still open.

It is lenient where models are (control characters and unknown escapes inside strings), strict elsewhere, follows any
number of values in a row, and never needs to look at a character twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

_RUN = re.compile(r'(?:[^"\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})++')
_SPACE = re.compile(r"[ \t\n\r]+")
_TOKEN = re.compile(r"[A-Za-z0-9+\-.]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER_BEGUN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+)?)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?")
_LITERALS = ("true", "false", "null")
_HEX = frozenset("0123456789abcdefABCDEF")
_LENIENT = json.JSONDecoder(strict=False)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Member:
    """A member of a top-level object: its key, whether its value is a string, where the value stands in the text."""

    key: str
    is_string: bool
    start: int
    end: int


class Scanner:
    """Follows JSON text; `feed` returns what arrived of the string under `watch`, decoded.

    The watched string is the first one that a top-level object holds under that key. After the text: `values` are the
    spans of its top-level values, `members` what their objects hold, `found` whether the watched string began,
    `broken` whether the text stopped being JSON, `incomplete` whether it ends too early, `odd_escapes` whether the
    watched string had escapes that JSON does not know (they stay as they are written).
    """

    def __init__(self, watch: str | None) -> None:
        self.values: list[tuple[int, int]] = []
        self.members: list[Member] = []
        self.found = False
        self.broken = False
        self.odd_escapes = False
        self._watch = watch
        self._offset = 0
        self._state: Callable[[str, int], int] = self._value
        self._stack: list[tuple[str, int]] = []
        self._start = 0
        self._token = ""
        self._escape = ""
        self._string_is_key = False
        self._keep: list[str] | None = None
        self._key = ""
        self._out: list[str] = []

    @property
    def incomplete(self) -> bool:
        """Whether more text must follow before this is JSON; false for what can never be."""
        if self.broken:
            return False
        if self._state == self._in_token:
            whole = _is_token(self._token)
            return _begins_token(self._token) and (bool(self._stack) or not whole)
        return bool(self._stack) or self._state in (self._in_string, self._in_escape)

    @property
    def dangling(self) -> bool:
        """Whether the text ends in a bare word or number that no other character has closed."""
        return self._state == self._in_token

    @property
    def open(self) -> bool:
        """Whether the text so far ends inside the watched string."""
        return self._keep is self._out and self._state in (self._in_string, self._in_escape)

    def feed(self, text: str) -> str:
        """The next piece of the text → the next piece of the watched string, often empty."""
        position = 0
        while position < len(text):
            position = self._state(text, position)
        self._offset += len(text)
        if not self._out:
            return ""
        piece = "".join(self._out)
        self._out.clear()
        return piece

    # Each state takes the text and a position in it, and returns the position it stopped at.

    def _value(self, text: str, position: int) -> int:
        """A value is due."""
        if run := _SPACE.match(text, position):
            return run.end()
        char = text[position]
        self._start = self._offset + position
        if char == '"':
            return self._open_string(position, is_key=False)
        if char in "{[":
            self._stack.append((char, self._start))
            self._state = self._key_or_end if char == "{" else self._value_or_end
            return position + 1
        if _TOKEN.match(char):
            self._token = ""
            self._state = self._in_token
            return position
        return self._break(text)

    def _value_or_end(self, text: str, position: int) -> int:
        if run := _SPACE.match(text, position):
            return run.end()
        return self._close(position) if text[position] == "]" else self._value(text, position)

    def _key_or_end(self, text: str, position: int) -> int:
        if run := _SPACE.match(text, position):
            return run.end()
        return self._close(position) if text[position] == "}" else self._key_due(text, position)

    def _key_due(self, text: str, position: int) -> int:
        if run := _SPACE.match(text, position):
            return run.end()
        if text[position] == '"':
            return self._open_string(position, is_key=True)
        return self._break(text)

    def _colon(self, text: str, position: int) -> int:
        if run := _SPACE.match(text, position):
            return run.end()
        if text[position] != ":":
            return self._break(text)
        self._state = self._value
        return position + 1

    def _after(self, text: str, position: int) -> int:
        """A value ended."""
        if run := _SPACE.match(text, position):
            return run.end()
        if not self._stack:
            self._state = self._value
            return position
        char, container = text[position], self._stack[-1][0]
        if char == ",":
            self._state = self._key_due if container == "{" else self._value
            return position + 1
        if char == ("}" if container == "{" else "]"):
            return self._close(position)
        return self._break(text)

    def _in_token(self, text: str, position: int) -> int:
        if run := _TOKEN.match(text, position):
            self._token += run.group()
            return run.end()
        if not _is_token(self._token):
            return self._break(text)
        self._end_value(position, is_string=False)
        return position

    def _in_string(self, text: str, position: int) -> int:
        if run := _RUN.match(text, position):
            if self._keep is not None:
                self._keep.append(_unescape(run.group()))
            return run.end()
        if text[position] == "\\":
            self._escape = ""
            self._state = self._in_escape
        elif self._string_is_key:
            self._key = self._key if self._keep is None else pair("".join(self._keep))
            self._state = self._colon
        else:
            self._end_value(position + 1, is_string=True)
        return position + 1

    def _in_escape(self, text: str, position: int) -> int:
        """Behind a backslash; `_escape` holds what stood there so far."""
        char = text[position]
        if not self._escape and char == "u":
            self._escape = char
            return position + 1
        if not self._escape:
            return self._end_escape(_ESCAPES.get(char), position + 1, char)
        if char not in _HEX:
            return self._end_escape(None, position, self._escape)
        self._escape += char
        if len(self._escape) < len("u0000"):
            return position + 1
        return self._end_escape(chr(int(self._escape[1:], 16)), position + 1)

    def _done(self, text: str, position: int) -> int:
        """The text is not JSON: nothing more is looked at."""
        return len(text)

    def _end_escape(self, decoded: str | None, position: int, source: str = "") -> int:
        if self._keep is not None:
            self._keep.append("\\" + source if decoded is None else decoded)
            self.odd_escapes |= decoded is None and self._keep is self._out
        self._state = self._in_string
        return position

    def _open_string(self, position: int, *, is_key: bool) -> int:
        at_top = len(self._stack) == 1 and self._stack[0][0] == "{"
        self._string_is_key = is_key
        if is_key:
            self._keep = [] if at_top else None
        elif at_top and not self.found and self._key == self._watch:
            self.found = True
            self._keep = self._out
        else:
            self._keep = None
        self._state = self._in_string
        return position + 1

    def _close(self, position: int) -> int:
        _, self._start = self._stack.pop()
        self._end_value(position + 1, is_string=False)
        return position + 1

    def _end_value(self, position: int, *, is_string: bool) -> None:
        end = self._offset + position
        if not self._stack:
            self.values.append((self._start, end))
        elif len(self._stack) == 1 and self._stack[0][0] == "{":
            self.members.append(Member(self._key, is_string, self._start, end))
        self._keep = None
        self._state = self._after

    def _break(self, text: str) -> int:
        self.broken = True
        self._state = self._done
        return len(text)


def decode_string(source: str) -> str:
    """A JSON string with its quotes → its text, as leniently as the scanner reads it."""
    return Scanner("").feed('{"":' + source)


def pair(text: str) -> str:
    """Joins surrogates that JSON escapes or pieces of a stream left apart; lone ones stay."""
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unescape(run: str) -> str:
    """A run of a JSON string in which every escape is whole and known → its text."""
    if "\\" not in run:
        return run
    text: str = _LENIENT.raw_decode(f'"{run}"')[0]
    return text


def _is_token(token: str) -> bool:
    return token in _LITERALS or _NUMBER.fullmatch(token) is not None


def _begins_token(token: str) -> bool:
    return any(literal.startswith(token) for literal in _LITERALS) or _NUMBER_BEGUN.fullmatch(token) is not None
