"""Text → text of the same length and punctuation, in code points, so that a stream can be cut as it was.

Nothing here depends on where in the text a word stands: the same word, quoted or not, gets the same filler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bridge.scrub.words import WORDS

_FILLER = "loremipsumdolorsitametconsecteturadipiscingelit"
_RUN = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"(\\u[0-9a-fA-F]{4}|\\.)", re.DOTALL)
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^"]+', re.DOTALL)
_SHORT_NUMBER = 6
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


def redact(text: str, known: Iterable[str] = ()) -> str:
    """Text that is kept, but for what looks like a credential, an address, a user's path, or is a `known` id."""
    text = _WINDOWS_USER.sub(lambda found: found.group(1) + fill(found.group(2)), text)
    return "".join(part if index % 2 else _redacted(part, known) for index, part in enumerate(_ESCAPE.split(text)))


def _filled(run: str, words: frozenset[str]) -> str:
    return run if run in words else _PART.sub(lambda part: _filler(part.group(), words), run)


def _filler(part: str, words: frozenset[str]) -> str:
    if part in words:
        return part
    length = len(part)
    return "1" * length if part.isdigit() else (_FILLER * (length // len(_FILLER) + 1))[:length]


def _filled_token(token: str, is_key: bool, rename: Rename) -> str:
    if not token.startswith('"'):
        return _RUN.sub(lambda run: _bare(run.group()), token)
    if is_key and "\\" not in token:
        return f'"{rename(token.strip('"'))}"'
    parts = _ESCAPE.split(token)
    return "".join(_letter(part) if index % 2 else fill(part, WORDS) for index, part in enumerate(parts))


def _bare(run: str) -> str:
    """What stands outside of strings: a number, a literal, or what is no JSON."""
    return run if run.isdecimal() and len(run) <= _SHORT_NUMBER else _filled(run, WORDS)


def _letter(escape: str) -> str:
    """An escape stays one; a letter that is written as one becomes another."""
    is_letter = escape.startswith("\\u") and chr(int(escape[2:], 16)).isalnum()
    return "\\u0061" if is_letter else escape


_WINDOWS_USER = re.compile(r"""(\bUsers\\{1,4})([^\s\\"'`:;,)]+)""")
"""Before escapes are set apart: a backslash of the path can be one, or stand in one."""
_SECRETS = re.compile(
    r"""
    \b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abpr]|hf|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}
    | (?<=bearer\s)[\w.~+/=-]{4,} | (?<=basic\s)[\w.~+/=-]{4,}
    | (?:api[_-]?key|token|secret|passw(?:or)?d|authorization|cookie)s?["']?\s*[:=]\s*["']?[^\s"',;]{3,}
    | [\w.+%-]+@[\w-]+(?:\.[\w-]+)+
    | (?<=://)[^\s/"'`)>\]]+
    | (?<=/home/)[^\s/"'`:;,)]+ | (?<=/Users/)[^\s/"'`:;,)]+
    | \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b
    | \b(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}\b
    | \b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|ai|dev|cloud|internal|intranet|local|lan|corp|home)\b
    | (?=[A-Za-z0-9+_=-]*\d)(?=[A-Za-z0-9+_=-]*[A-Za-z])[A-Za-z0-9+_=-]{20,}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _redacted(text: str, known: Iterable[str]) -> str:
    for secret in known:
        if secret in text:
            text = text.replace(secret, fill(secret))
    return _SECRETS.sub(lambda found: fill(found.group()), text)
