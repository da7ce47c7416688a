"""One call of a stream, lifted as it arrives.

States: announced without a name (held until it has one) → open → finished or cut. Of a custom call the payload
streams; of a search nothing does, its arguments are an object; a function call passes under its restored name.
"""

from __future__ import annotations

from bridge import events
from bridge.jsonvalue import Object, as_index, as_object, as_text
from bridge.ledger import Rule
from bridge.payload import DEFAULT_PARAMETER, Unwrapper, breaks_off
from bridge.tools.calls import lift_call, restore_name
from bridge.tools.context import Context
from bridge.tools.definitions import parameter_of
from bridge.tools.lift import Call, arguments_of, finish_call, identify, is_cut

ADDED, DELTA = "response.output_item.added", "response.function_call_arguments.delta"


class CallStream:
    """Takes the events of one `function_call`, returns those of the client's call."""

    def __init__(self, context: Context) -> None:
        self.cut = False
        """Whether the call broke off: nothing of it was finished."""
        self.index = -1
        """Its place in the output, once an event has told."""
        self._context = context
        self._call: Call | None = None
        self._held: list[Object] = []
        self._unwrapper = Unwrapper(DEFAULT_PARAMETER)
        self._whole = ""
        self._lifted_id = ""

    @property
    def item(self) -> Object:
        """The item as it was announced."""
        held = as_object(self._held[0].get("item")) if self._held else {}
        return self._call.item if self._call else held

    @property
    def announced(self) -> bool:
        """Whether it was announced, with a name."""
        return self._call is not None

    @property
    def arguments(self) -> str:
        """The arguments that have arrived."""
        return self._whole or self._unwrapper.text

    def added(self, event: Object) -> list[Object]:
        """The call is announced."""
        self.index = as_index(event.get("output_index")) or 0
        item = as_object(event.get("item"))
        if not as_text(item.get("name")):
            self._held.append(event)
            return []
        self._call = call = identify(item, self._context)
        if call.tool is None:
            return [event]
        if not call.is_lifted:
            restored = restore_name(item, call.tool)
            return [event if restored == item else {**event, "item": restored}]
        self._unwrapper = Unwrapper(parameter_of(self._context.settings, call.tool.name, call.tool.flat))
        lifted = lift_call(item, call.tool, "")
        self._lifted_id = as_text(lifted.get("id"))
        return [{**event, "item": lifted}, *self._text(arguments_of(item), event)]

    def delta(self, event: Object) -> list[Object]:
        """A piece of the arguments."""
        if self._call is None:
            self._held.append(event)
            return []
        pieces = self._text(as_text(event.get("delta")), event)
        return pieces if self._call.is_lifted else [event]

    def arguments_done(self, event: Object) -> list[Object]:
        """The arguments are said to be whole; of a lifted call the item's own end decides."""
        if self._call is None:
            self._held.append(event)
            return []
        self._whole = arguments_of(event)
        return [] if self._call.is_lifted or breaks_off(self.arguments) else [event]

    def done(self, event: Object) -> list[Object]:
        """The item is finished, or cut: then nothing of its end leaves."""
        item, index = as_object(event.get("item")), as_index(event.get("output_index")) or 0
        opening = self._open(item, index)
        if announced := as_text(self.item.get("id")):
            item = {**item, "id": announced}
        if self._call is None:
            return [*opening, event]
        arguments = arguments_of(item) or self.arguments
        if is_cut(item, arguments):
            return opening + self.break_off(f"output[{index}]")
        finished = finish_call(Call(item, self._call.tool), arguments, f"output[{index}]", self._context)
        last = event if finished == item else {**event, "item": finished}
        return [*opening, *self._end_input(finished, index), last] if self._call.is_custom else [*opening, last]

    def break_off(self, path: str) -> list[Object]:
        """The call stays unfinished."""
        self.cut = True
        warning = "a call breaks off; it is not made"
        self._context.ledger.add(Rule.TRUNCATED, as_text(self.item.get("name")), path, warning=warning)
        return []

    def _open(self, item: Object, index: int) -> list[Object]:
        """What must have left before the call can end: its announcement, and what was held for want of a name."""
        if self._call is not None:
            return []
        held, self._held = self._held, []
        announced = bool(held) and held[0].get("type") == ADDED
        if not as_text(item.get("name")):
            warning = "a call without a name; Codex leaves it out"
            self._context.ledger.add(Rule.UNKNOWN, "", f"output[{index}]", warning=warning)
            return held
        first = held[0] if announced else events.added({**item, "status": "in_progress", "arguments": ""}, index)
        opening = self.added({**first, "item": {**as_object(first.get("item")), "name": item["name"]}})
        if not announced and not (self._call and self._call.is_lifted):
            opening = []
        for event in held[1:] if announced else held:
            opening += self.delta(event) if event.get("type") == DELTA else self.arguments_done(event)
        return opening

    def _text(self, text: str, event: Object) -> list[Object]:
        piece = self._unwrapper.feed(text) if text else ""
        if not piece or self._call is None or not self._call.is_custom:
            return []
        return [events.input_delta(self._lifted_id, as_index(event.get("output_index")) or 0, piece)]

    def _end_input(self, finished: Object, index: int) -> list[Object]:
        """The rest of the payload, and the word that it is whole."""
        payload, sent = as_text(finished.get("input")), self._unwrapper.payload
        whole = events.input_done(self._lifted_id, index, payload)
        if not payload.startswith(sent):
            warning = "the deltas of a call do not add up to its arguments; the arguments are delivered"
            name = as_text(self.item.get("name"))
            self._context.ledger.add(Rule.MALFORMED, name, f"output[{index}]", warning=warning)
            return [whole]
        rest = payload[len(sent) :]
        return [events.input_delta(self._lifted_id, index, rest), whole] if rest else [whole]
