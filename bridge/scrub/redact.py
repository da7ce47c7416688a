"""Text that is kept on request → the same without what looks like a credential, an address or a person's path.

It is a list of known forms, and no list is whole: scrubbing that leaves nothing is `text.fill`. Every pattern takes
time in proportion to the text: a run of characters is entered at its start only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bridge.scrub.text import fill

_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_NAMED = r"key|token|secret|passw(?:or)?d|passphrase|pwd|pass|credential|cookie|auth(?:orization)?|session"
_COUNTRIES = "at|be|br|ca|ch|cn|cz|de|dk|es|eu|fi|fr|gr|hu|ie|il|in|it|jp|kr|mx|nl|no|nz|pl|pt|ro|ru|se|tr|tw|ua|uk|us"
_DOMAINS = "com|net|org|io|ai|dev|app|cloud|info|biz|internal|intranet|local|lan|corp|home"
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z ]{3,40}-----.{1,8000}?-----END [A-Z ]{3,40}-----",
        # A name that says so, what stands between, and the value: to its quote, or to the next blank.
        rf"(?<![\w-])[\w-]*?(?:{_NAMED})[\w-]{{0,40}}"
        r"(?:[\\\s]{0,4}[\"'])?\s{0,4}(?:[:=]|%3D)\s{0,4}(?:(?:bearer|basic|token|apikey|digest)\s+)?"
        r"(?:\\+\"[^\"\\]{3,400}|\"[^\"\\]{3,400}|'[^'\\]{3,400}|(?!(?:true|false|null|none|[\d.,]+)\b)[^\s\"'(){}\[\]<>]{3,400})",
        r"--(?:api-)?(?:token|password|key|secret|user)[ =][^\s\"'\\]{2,200}|(?<!\S)-u [^\s:\"'\\]+:[^\s\"'\\]+",
        r"\b(?:bearer|basic)\s+[\w.~+/=-]{4,}",
        r"(?<![\w.-])(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|npm|dop_v1|xox[a-z]|sq0[a-z]{3}|hf|AKIA|ASIA|AIza|ya29\.|eyJ)"
        r"[-_A-Za-z0-9.]{6,}",
        r"(?<![\w.+%-])[\w.+%-]+(?:@|%40)[\w-]+(?:\.[\w-]+)*",
        r"(?<=://)[^\s/\"'`)>\]\\]+(?:/[^\s\"'`)>\]\\]*)?",
        r"(?:(?<=/home/)|(?<=/Users/)|(?<=\\/home\\/)|(?<=\\/Users\\/))[^\s/\"'`:;,)\\]+",
        r"(?<![\w~])~[a-z][\w-]+",
        r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b",
        r"(?<![\d.])(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\d.])",
        r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}:?[0-9a-f]{1,4}(?![\w:])|(?<![\w:])[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}::[0-9a-f:]+",
        rf"(?<![\w.-])(?:[\w-]+\.)+(?:{_DOMAINS})\b(?:/[\w./-]+)?|(?<![\w.-])(?:[\w-]+\.){{2,}}(?:{_COUNTRIES})\b(?!\()",
        r"(?<![\w+/=-])(?=[A-Za-z+/_=-]*\d)(?=[\d+/_=-]*[A-Za-z])[A-Za-z0-9+/_=-]{24,}",
    )
]


_WINDOWS_USER = re.compile(r"""(\b(?:Users|home|Benutzer)\\{1,8})([^\s\\"'`:;,)]+)""")


def redact(text: str, known: Mapping[str, str]) -> str:
    """`known`: ids and keys → what stands for them, of the same length. The text can be JSON, in JSON: escapes stay."""
    for secret, stand_in in known.items():
        text = text.replace(secret, stand_in)
    text = _WINDOWS_USER.sub(lambda found: found.group(1) + fill(found.group(2)), text)
    if "\\" not in text:
        return _redacted(text)
    redacted = _redacted(_ESCAPE.sub(_opened, text))
    return "".join(
        part if index % 2 else redacted[start : start + len(part)] for index, (start, part) in enumerate(_parts(text))
    )


def _redacted(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(lambda found: fill(found.group()), text)
    return text


def _opened(escape: re.Match[str]) -> str:
    """An escape as what it stands for, to be read by the patterns: a quote, a slash, a backslash, else blanks."""
    text = escape.group()
    return text if text == "\\\\" else f" {text[1]}" if text[1] in "\"'/" else " " * len(text)


def _parts(text: str) -> list[tuple[int, str]]:
    """(place, text) of what stands between escapes, and of the escapes, by turns."""
    parts, start = [], 0
    for escape in _ESCAPE.finditer(text):
        parts += [(start, text[start : escape.start()]), (escape.start(), escape.group())]
        start = escape.end()
    return [*parts, (start, text[start:])]
