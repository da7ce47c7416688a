"""Between a stream and a whole answer, either way, and the summary that a compaction makes of either."""

from __future__ import annotations

from bridge import events
from bridge.jsonvalue import JSON, Object, as_index, as_object, as_objects, as_text
from bridge.ledger import Rule
from bridge.tools.compaction import lift_compaction
from bridge.tools.complete import ITEM, LIFECYCLE, TERMINAL
from bridge.tools.context import Context


class Collector:
    """A client's stream of events → the response that it ends with."""

    def __init__(self) -> None:
        self._items: list[tuple[int, Object]] = []
        self._end: Object = {}

    def take(self, out: list[Object]) -> None:
        """Events, lifted."""
        for event in out:
            kind = as_text(event.get("type"))
            if kind == ITEM[1]:
                self._items.append((as_index(event.get("output_index")) or 0, as_object(event.get("item"))))
            if kind in TERMINAL:
                self._end = as_object(event.get("response"))

    def response(self) -> Object:
        """The whole response, with the items that were finished."""
        # Some backends say one index for all items: then their order is that of their ends.
        items: list[JSON] = [item for _, item in sorted(self._items, key=lambda placed: placed[0])]
        return {**self._end, "output": items} if items else self._end


class Compactor:
    """A client's stream of events → one that holds a compaction item only."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._items: list[Object] = []
        self._deltas: list[str] = []

    def take(self, out: list[Object]) -> list[Object]:
        """Events, lifted → what is left of them."""
        return [left for event in out for left in self._take(event)]

    def _take(self, event: Object) -> list[Object]:
        kind = as_text(event.get("type"))
        if kind == ITEM[1]:
            self._items.append(as_object(event.get("item")))
        elif kind == "response.output_text.delta":
            self._deltas.append(as_text(event.get("delta")))
        elif kind in TERMINAL:
            return self._finish(event)
        return [event] if kind in LIFECYCLE or kind in ("error", "keepalive") else []

    def _finish(self, event: Object) -> list[Object]:
        response = as_object(event.get("response"))
        items = self._items or as_objects(response.get("output"))
        summary = summary_of(items) or "".join(self._deltas).strip()
        compacted = compact_response(response, summary, self._context)
        if compacted.get("status") != "completed":
            return [{**event, "type": f"response.{compacted['status']}", "response": compacted}]
        item = as_objects(compacted.get("output"))[0]
        return [events.added(item, 0), events.done(item, 0), {**event, "response": compacted}]


def summary_of(items: list[Object]) -> str:
    """The text of all messages."""
    messages = [item for item in items if item.get("type") == "message"]
    return "".join(as_text(part.get("text")) for item in messages for part in as_objects(item.get("content"))).strip()


def compact_response(response: Object, summary: str, context: Context) -> Object:
    """A lifted response → the same with the compaction item as its only output; without a summary it failed."""
    if response.get("status") in ("failed", "incomplete"):
        return {**response, "output": []}
    if not summary:
        error: Object = {"code": "server_error", "message": "The model gave no summary of the conversation."}
        context.ledger.add(Rule.FAILED, "compaction", warning="the model gave no summary")
        return {**response, "status": "failed", "error": error, "output": []}
    context.ledger.add(Rule.COMPACTED, "summary sealed")
    item = lift_compaction(context.mint("cmp_"), summary)
    return {**response, "status": "completed", "output": [item]}


def compacted_body(response: Object) -> Object:
    """A compacted response → what `/responses/compact` answers."""
    kept = {key: response[key] for key in ("id", "created_at", "output", "usage") if response.get(key) is not None}
    return {"object": "response.compaction", **kept}
