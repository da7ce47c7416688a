"""The `input` of a request → items that a function-only backend takes, in the same order."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_objects, as_text
from bridge.ledger import Ledger, Rule
from bridge.names import NameTable
from bridge.settings import Backend, Settings
from bridge.shapes import item_type
from bridge.tools import compaction, messages
from bridge.tools.calls import REPLAYED_CALLS, REPLAYED_OUTPUTS, lower_call, lower_output
from bridge.tools.images import lower_output_images
from bridge.tools.pairing import Placed, pair


def lower_history(body: Object, names: NameTable, settings: Settings, ledger: Ledger) -> JSON:
    """The `input` of a request, lowered; a plain string stays one."""
    items = body.get("input")
    if not isinstance(items, list):
        return items
    history = _History(names, settings, ledger)
    for index, item in enumerate(as_objects(items)):
        history.add(item, index)
    # What a stored response holds is not in the input: an output may belong to it.
    stored = bool(body.get("previous_response_id") or body.get("conversation"))
    paired = pair(history.finish(), ledger, keep_orphans=stored)
    return list[JSON](paired)


class _History:
    """Lowers item after item; images that leave their outputs follow the last output in a row."""

    def __init__(self, names: NameTable, settings: Settings, ledger: Ledger) -> None:
        self._names, self._settings, self._ledger = names, settings, ledger
        self._items: list[Placed] = []
        self._images: list[JSON] = []

    def add(self, item: Object, index: int) -> None:
        """One item of the client's → none, one or more of the backend's."""
        path, kind = f"input[{index}]", item_type(item)
        if self._images and kind not in REPLAYED_OUTPUTS:
            self._place_images(path)
        for lowered in self._lower(kind, item, index, path):
            self._items.append((lowered, path))

    def finish(self) -> list[Placed]:
        """All items, with their paths in the client's request."""
        self._place_images("input")
        return self._items

    def _lower(self, kind: str, item: Object, index: int, path: str) -> list[Object]:
        if kind in REPLAYED_CALLS and isinstance(item.get("call_id"), str):
            return [lower_call(item, path, self._names, self._settings, self._ledger)]
        if kind in REPLAYED_OUTPUTS and isinstance(item.get("call_id"), str):
            return [self._lower_output(item, path)]
        match kind:
            case "message":
                return messages.lower_message(item, index, self._settings.images, self._ledger)
            case "reasoning":
                keep_own = self._settings.backend is Backend.CHAT
                return messages.lower_reasoning(item, path, self._ledger, keep_own=keep_own)
            case "agent_message":
                return messages.lower_agent_message(item, path, self._ledger)
            case "additional_tools" | compaction.TRIGGER:
                return []
            case _ if kind in compaction.ITEMS:
                return [compaction.lower_compaction(item, path, self._ledger)]
            case _ if kind.endswith(("_call", "_call_output")) or kind in REPLAYED_OUTPUTS:
                # A search or shell call that OpenAI's servers ran has no call_id that anything could answer.
                return messages.lower_hosted_call(item, index, self._ledger)
            case _:
                self._ledger.add(Rule.UNKNOWN, as_text(item.get("type")), path, warning="an item of an unknown type")
                return [item]

    def _lower_output(self, item: Object, path: str) -> Object:
        lowered = lower_output(item, path, self._names, self._settings, self._ledger)
        output, images = lower_output_images(lowered.get("output"), path, self._settings.images, self._ledger)
        self._images += images
        return lowered if output is lowered.get("output") else {**lowered, "output": output}

    def _place_images(self, path: str) -> None:
        if self._images:
            self._items.append(({"type": "message", "role": "user", "content": self._images}, path))
            self._images = []
