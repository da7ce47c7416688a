"""The reasoning in an answer: the same text under several names is one text."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_object, as_text

FIELDS = ("reasoning_content", "reasoning")
_SOURCES = frozenset((*FIELDS, "reasoning_details"))
TAGS = "think tags"


class ReasoningSource:
    """Servers mirror reasoning in several fields; the first that speaks is heard, the others are its copies."""

    def __init__(self) -> None:
        self.details: list[JSON] = []
        """`reasoning_details` as they came, which some providers want back."""
        self._heard = ""

    def read(self, delta: Object) -> str:
        """A delta → the reasoning text that it adds."""
        if delta.keys().isdisjoint(_SOURCES):
            return ""
        details = delta.get("reasoning_details")
        entries = details if isinstance(details, list) else []
        self.details += entries
        said = {field: as_text(delta.get(field)) for field in FIELDS}
        said["reasoning_details"] = "".join(_detail_text(as_object(entry)) for entry in entries)
        return next((text for source, text in said.items() if text and self.hears(source)), "")

    def hears(self, source: str) -> bool:
        """Whether this source is the one that is heard."""
        self._heard = self._heard or source
        return self._heard == source


def _detail_text(detail: Object) -> str:
    return as_text(detail.get("text")) or as_text(detail.get("summary"))
