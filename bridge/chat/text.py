"""The visible text of an answer: what of it is reasoning after all, and what looks like a call that was not read."""

from __future__ import annotations

import re

from bridge.jsonvalue import Object, as_objects, as_text
from bridge.ledger import Ledger, Rule

_MARKUP = re.compile(r"<tool_call>|<function=|<\|tool_call|\[TOOL_CALLS\]|<｜tool▁call|<minimax:tool_call>|<arg_key>")
_LONGEST_MARKUP = 24
OPEN, CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Text → pieces of (is reasoning, text). Only what could be the beginning of a tag is held back."""

    def __init__(self) -> None:
        self._inside = False
        self._held = ""
        self._fresh = False

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """The next piece of the text."""
        text = self._held + text
        self._held = ""
        pieces: list[tuple[bool, str]] = []
        while text:
            tag = CLOSE if self._inside else OPEN
            before, found, after = text.partition(tag)
            if not found:
                keep = _begun(text, tag)
                before, self._held = text[: len(text) - keep], text[len(text) - keep :]
            self._emit(before, pieces)
            if found:
                self._inside = not self._inside
                self._fresh = True
            text = after
        return pieces

    def finish(self) -> list[tuple[bool, str]]:
        """The text is over: what was held is what it is."""
        pieces: list[tuple[bool, str]] = []
        held, self._held = self._held, ""
        self._emit(held, pieces)
        return pieces

    def _emit(self, text: str, pieces: list[tuple[bool, str]]) -> None:
        """Blanks right behind a tag belong to the tag."""
        if self._fresh:
            text = text.lstrip()
        if text:
            self._fresh = False
            pieces.append((self._inside, text))


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of the text could begin the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


class MarkupWatch:
    """Looks for the markup of calls in a text that comes in pieces."""

    def __init__(self) -> None:
        self._tail = ""
        self._found = False

    def sees(self, text: str) -> bool:
        """Whether this piece completes the first markup of the text."""
        seen = self._tail + text
        self._tail = seen[-_LONGEST_MARKUP:]
        if self._found or not _MARKUP.search(seen):
            return False
        self._found = True
        return True


def text_of(delta: Object, ledger: Ledger) -> str:
    """The visible text of a delta or message: a string, a list of parts (as Mistral sends it), or a refusal."""
    content = delta.get("content")
    if content is None or isinstance(content, str):
        return content or as_text(delta.get("refusal"))
    parts = as_objects(content)
    for part in parts:
        if part.get("type") not in ("text", None):
            ledger.add(
                Rule.DROPPED, f"content part {as_text(part.get('type'))}", warning="it has no place in an answer"
            )
    return "".join(as_text(part.get("text")) for part in parts) or as_text(delta.get("refusal"))
