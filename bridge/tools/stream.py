"""The events of a function-only stream → the client's events, one by one, with an honest end."""

from __future__ import annotations

from bridge import events
from bridge.errors import as_error, code_of
from bridge.jsonvalue import Object, as_index, as_object, as_objects, as_text, without
from bridge.ledger import Rule
from bridge.payload import breaks_off
from bridge.tools.callstream import CallStream
from bridge.tools.complete import ITEM, LIFECYCLE, TERMINAL, complete_response
from bridge.tools.context import Context
from bridge.tools.lift import broken_off, echo, lift_item, lift_response, string_code

_ENDS = {"completed": "response.completed", "incomplete": "response.incomplete"}
_STATUS = {"response.incomplete": "incomplete", "response.failed": "failed"}

_NOTHING = ("", "{}")
"""Arguments of a call that was announced and no more."""


class StreamLift:
    """Takes completed events in order; what it returns unchanged is the same object."""

    def __init__(self, context: Context) -> None:
        self.ended = False
        """Whether the terminal event has left."""
        self._context = context
        self._calls: dict[str, CallStream] = {}
        self._finished: set[str] = set()
        self._cut = False
        self._seen_items = False
        self._error: Object | None = None
        self._response: Object = {}
        self._opened = ""
        """The id under which the bridge announced the response, if the backend was silent for too long."""

    def feed(self, event: Object) -> list[Object]:
        """One event of the backend's → none, one or more of the client's."""
        kind = as_text(event.get("type"))
        if kind.startswith("response.function_call_arguments."):
            return self._arguments(event, finished=kind.endswith(".done"))
        if kind in LIFECYCLE:
            return self._begin(kind, event)
        if kind in TERMINAL:
            return self._end(kind, event)
        if kind in ITEM:
            self._seen_items = True
            return self._item(event, announced=kind == ITEM[0])
        if kind == "error" or (not kind and "error" in event):
            self._error = as_error(event["error"]) if event.get("error") else without(event, "type", "sequence_number")
        return [event]

    def keepalive(self) -> list[Object]:
        """An event that changes nothing; Codex's idle timer counts any event, but no comment (0.154 to 0.171).

        A stream that has not begun begins: under an id that it keeps, whatever the backend calls the response. Behind
        items of a backend that never announced it, nothing can begin.
        """
        if self.ended:
            return []
        progress = "response.in_progress"
        if self._response:
            return [{"type": progress, "response": self._response}]
        self._response = complete_response({"status": "in_progress"}, self._context)
        self._opened = as_text(self._response["id"])
        kinds = (progress,) if self._seen_items else (LIFECYCLE[0], progress)
        return [{"type": kind, "response": self._response} for kind in kinds]

    def fail(self, message: str) -> list[Object]:
        """The stream is over without its terminal event."""
        if self.ended:
            return []
        self.ended = True
        error = string_code(self._error or {"message": message})
        self._context.ledger.add(Rule.FAILED, as_text(error["code"]), warning="the stream ends without its end")
        response = self._response or complete_response({}, self._context)
        failed: Object = {**response, "status": "failed", "error": error, "output": []}
        return [events.ended("response.failed", failed)]

    def forget(self) -> None:
        """The stream goes on, and ends, without what the backend's response said."""
        self.ended, self._error, self._response = False, None, {}

    def _begin(self, kind: str, event: Object) -> list[Object]:
        response = as_object(event.get("response"))
        echoed = self._under_its_id(echo(response, self._context))
        self._response = {**without(echoed, "usage"), "output": []}
        if kind == LIFECYCLE[0] and self._opened:
            return []
        as_it_came = echoed is response and not self._opened
        return [event if as_it_came else {**event, "response": echoed}]

    def _under_its_id(self, response: Object) -> Object:
        """The response under the id that the client knows it by."""
        if self._opened in ("", response.get("id")):
            return response
        self._context.ledger.add(Rule.CONVERTED, "response id")
        return {**response, "id": self._opened}

    def _item(self, event: Object, *, announced: bool) -> list[Object]:
        item, index = as_object(event.get("item")), as_index(event.get("output_index")) or 0
        if item.get("type") != "function_call":
            lifted = lift_item(item, f"output[{index}]", self._context.quiet() if announced else self._context)
            self._cut |= lifted is None
            return [] if lifted is None else [event if lifted == item else {**event, "item": lifted}]
        identity = as_text(item.get("id"))
        if identity in self._finished:
            # Codex runs a call at each `done`.
            self._context.ledger.add(Rule.DROPPED, "a call again behind its end", f"output[{index}]")
            return []
        if announced:
            self._calls[identity] = call = CallStream(self._context)
            return call.added(event)
        self._finished.add(identity)
        call = self._call(identity, index) or CallStream(self._context)
        self._calls = {key: open_call for key, open_call in self._calls.items() if open_call is not call}
        lifted_events = call.done(event)
        self._cut |= call.cut
        return lifted_events

    def _call(self, identity: str, index: int) -> CallStream | None:
        """The open call of an item: by its id, or by its place where the id has changed."""
        if identity in self._calls:
            return self._calls[identity]
        by_place = [call for call in self._calls.values() if call.index == index]
        return by_place[0] if len(by_place) == 1 else None

    def _arguments(self, event: Object, *, finished: bool) -> list[Object]:
        identity, index = as_text(event.get("item_id")), as_index(event.get("output_index")) or 0
        if identity in self._finished:
            self._context.ledger.add(Rule.DROPPED, "arguments behind the end of their call", f"output[{index}]")
            return []
        call = self._call(identity, index)
        if call is None:
            self._calls[identity] = call = CallStream(self._context)
        return call.arguments_done(event) if finished else call.delta(event)

    def _end(self, kind: str, event: Object) -> list[Object]:
        said = as_object(event.get("response"))
        response = self._under_its_id(said)
        status = as_text(response.get("status")) or _STATUS.get(kind, "completed")
        finished = kind in ("response.completed", "response.done") and status == "completed"
        last = self._finish_calls(response, finished=finished)
        if finished and not self._seen_items:
            last += self._announce(as_objects(response.get("output")))
        lifted = lift_response({**response, "status": status}, self._context.quiet())
        if self._cut and lifted.get("status") == "completed":
            lifted = {**lifted, "status": "failed", "error": broken_off()}
        end = _ENDS.get(as_text(lifted.get("status")), "response.failed")
        if end == "response.failed":
            lifted = self._failed(lifted)
        if end != kind:
            self._context.ledger.add(Rule.CONVERTED, f"{kind} to {end}")
        self.ended = True
        # An end that says no status can only leave as it came if everybody reads it as the same one.
        unchanged = end == kind and lifted == {**said, "status": as_text(said.get("status")) or "completed"}
        return [*last, event if unchanged else {**event, "type": end, "response": lifted}]

    def _failed(self, response: Object) -> Object:
        error = as_object(response.get("error"))
        self._context.ledger.add(Rule.FAILED, code_of(error), warning="the turn ends as failed")
        return {**response, "status": "failed", "error": string_code(error)}

    def _finish_calls(self, response: Object, *, finished: bool) -> list[Object]:
        """Calls that no event ended: the response holds them, or they are whole as they are, or they broke off."""
        last: list[Object] = []
        by_id = {as_text(item.get("id")): item for item in as_objects(response.get("output"))}
        for identity, call in self._calls.items():
            item, index = by_id.get(identity), call.index
            whole = call.arguments.strip() not in _NOTHING and not breaks_off(call.arguments)
            if finished and (item or (whole and call.announced)):
                last += call.done(events.done(item or {**call.item, "status": "completed"}, index))
            else:
                last += call.break_off(f"output[{index}]")
            self._cut |= call.cut
        self._calls.clear()
        return last

    def _announce(self, items: list[Object]) -> list[Object]:
        """Items that stand in the terminal event only, which Codex does not look at."""
        announced: list[Object] = []
        for index, item in enumerate(items):
            for event in events.item_events(item, index):
                announced += self.feed(event)
        return announced
