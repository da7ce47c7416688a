"""Text → text of the same length and punctuation, in code points, so that a stream can be cut as it was.

Nothing here depends on where in the text a word stands: the same word, quoted or not, gets the same filler.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bridge.scrub.words import WORDS

_FILLER = "loremipsumdolorsitametconsecteturadipiscingelit"
# Whatever is not ASCII punctuation, a blank or a control: marks, symbols and letters in circles can spell words too.
_PART = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_RUN = re.compile(r"[0-9A-Za-z_\x80-\U0010ffff]+")
_ESCAPE = re.compile(r"(\\u[0-9a-fA-F]{4}|\\.)", re.DOTALL)
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^"]+', re.DOTALL)
_BARE = re.compile(rf"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_\x80-\U0010ffff])|{_RUN.pattern}")
SHORT_NUMBER = 6
"""Digits that a number may have and say nothing of anybody: counts, limits, milliseconds."""

type Rename = Callable[[str], str]
"""A name → its stand-in, of the same length."""


def fill(text: str, words: frozenset[str] = frozenset()) -> str:
    """Text → filler; the `words` stay."""
    return _RUN.sub(lambda run: _filled(run.group(), words), text)


def fill_json(text: str, rename: Rename) -> str:
    """JSON text, whole or broken → JSON text of the same shape: keys renamed, known words and short numbers kept."""
    tokens = list(_JSON_TOKEN.finditer(text))
    followers = [text[token.end() : token.end() + 20].lstrip() for token in tokens]
    return "".join(
        _filled_token(token.group(), follower.startswith(":"), rename)
        for token, follower in zip(tokens, followers, strict=True)
    )


def digits(text: str) -> int:
    """How many digits a text has."""
    return sum(map(str.isdigit, text))


def _filled(run: str, words: frozenset[str]) -> str:
    return run if run in words else _PART.sub(lambda part: _filler(part.group(), words), run)


def _filler(part: str, words: frozenset[str]) -> str:
    if part in words:
        return part
    length = len(part)
    return "1" * length if part.isdigit() else (_FILLER * (length // len(_FILLER) + 1))[:length]


def _filled_token(token: str, is_key: bool, rename: Rename) -> str:
    if not token.startswith('"'):
        return _BARE.sub(lambda run: _bare(run, token), token)
    if is_key and "\\" not in token:
        return f'"{rename(token.strip('"'))}"'
    parts = _ESCAPE.split(token)
    return "".join(_letter(part) if index % 2 else fill(part, WORDS) for index, part in enumerate(parts))


def _bare(found: re.Match[str], token: str) -> str:
    """What stands outside of strings: a number, a literal, or what is no JSON. A number in a list can be a letter."""
    run, before = found.group(), token[: found.start()].rstrip()
    if not (run[0] == "-" or run[0].isdecimal()):
        return _filled(run, WORDS)
    if before.endswith(":") and digits(run) <= SHORT_NUMBER and run.isascii():
        return run
    return re.sub(r"\w", lambda char: char.group() if char.group() in "eE" else "1", run)


def _letter(escape: str) -> str:
    """An escape stays one; a letter, or half of one, that is written as one becomes another."""
    code = int(escape[2:], 16) if escape.startswith("\\u") else 0
    return "\\u0061" if code >= 0x80 or chr(code).isalnum() else escape
