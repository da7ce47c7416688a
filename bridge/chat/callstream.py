"""The calls of one answer as items, one after the other, while their fragments come in any order."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bridge.chat.calls import Assembly, Call
from bridge.chat.output import Output
from bridge.jsonvalue import Object
from bridge.ledger import Ledger, Rule
from bridge.payload import breaks_off

LONGEST_ID = 64
_KINDS = {False: ("function_call_arguments", "arguments"), True: ("custom_tool_call_input", "input")}
_TYPES = {False: ("function_call", "fc_"), True: ("custom_tool_call", "ctc_")}


class CallWriter:
    """The first unfinished call streams; those that begin before it ends wait for it."""

    def __init__(
        self,
        output: Output,
        tools: Collection[str],
        call_ids: Collection[str],
        mint: Callable[..., str],
        ledger: Ledger,
    ) -> None:
        self.open = False
        """Whether a call has been announced and not finished."""
        self._output = output
        self._assembly = Assembly(tools)
        self._used = set(call_ids)
        self._mint = mint
        self._ledger = ledger
        self._live = 0
        self._call_ids: dict[int, str] = {}

    @property
    def any(self) -> bool:
        """Whether there is any call."""
        return bool(self._assembly.calls)

    @property
    def extras(self) -> Object:
        """`extra_content` of the calls by call_id."""
        calls = enumerate(self._assembly.calls)
        return {self._call_ids[place]: call.extra for place, call in calls if call.extra and place in self._call_ids}

    @property
    def all_complete(self) -> bool:
        """Whether there are calls, and nothing is missing of any."""
        return self.any and all(call.complete for call in self._assembly.calls)

    def take(self, entries: list[Object], *, whole: bool) -> list[Object]:
        """The entries of one `tool_calls` list; `whole`: of a message."""
        for entry in entries:
            self._assembly.add(entry, whole=whole)
        return self._advance() if entries else []

    def settle(self) -> list[Object]:
        """Something else wants to follow: a call that is complete is finished."""
        call = self._current()
        return self._close(call, whole=True) if call and self.open and call.complete else []

    def finish(self, *, cut: bool, ended: bool) -> list[Object]:
        """No more fragments come.

        `cut`: the output limit or a filter ended the answer; `ended`: the backend gave any reason, so that a call
        without arguments is one.
        """
        made: list[Object] = []
        while call := self._current():
            if not call.name:
                self._live += 1
                self._ledger.add(Rule.UNKNOWN, "", warning="the backend sent a call without a name; it was left out")
                continue
            made += [] if self.open else self._announce(call)
            blank = not call.custom and not call.text.strip()
            whole = call.complete if cut else ended if blank else (call.custom or not breaks_off(call.text))
            made += self._close(call, whole=whole)
        return made

    def _current(self) -> Call | None:
        calls = self._assembly.calls
        return calls[self._live] if self._live < len(calls) else None

    def _advance(self) -> list[Object]:
        made: list[Object] = []
        while call := self._current():
            last = call is self._assembly.calls[-1]
            if not self.open and not (call.name and (call.begun or not last)):
                break
            made += [] if self.open else self._announce(call)
            made += self._output.call_text(_KINDS[call.custom][0], call.take())
            if last or not call.complete:
                break
            made += self._close(call, whole=True)
        return made

    def _announce(self, call: Call) -> list[Object]:
        self.open = True
        self._call_ids[self._live] = call_id = self._unique(call.id)
        kind, prefix = _TYPES[call.custom]
        identity = self._mint(prefix, self._live)
        _, field = _KINDS[call.custom]
        item: Object = {"type": kind, "id": identity, "call_id": call_id, "name": call.name, field: ""}
        return self._output.open_call(item)

    def _close(self, call: Call, *, whole: bool) -> list[Object]:
        kind, field = _KINDS[call.custom]
        rest = call.take() + ("" if call.custom else call.arguments.finish())
        if not call.custom and whole and not call.text.strip():
            # Servers leave the arguments of a call without parameters empty; `{}` is what they mean.
            rest += call.arguments.add("{}")
        if call.arguments.ignored:
            warning = "more arguments came after the end of a call; they were ignored"
            self._ledger.add(Rule.MALFORMED, call.name, warning=warning)
        self.open = False
        self._live += 1
        return self._output.call_text(kind, rest) + self._output.close_call(kind, field, call.text, whole=whole)

    def _unique(self, identity: str) -> str:
        """A call_id that the thread has not seen and that is not too long; Codex replays it, and pairs by it."""
        wanted = identity if 0 < len(identity) <= LONGEST_ID else self._mint("call_", self._live)
        found, number = wanted, 1
        while found in self._used:
            number += 1
            ending = f"_{number}"
            found = wanted[: LONGEST_ID - len(ending)] + ending
        if found != wanted:
            self._ledger.add(Rule.CONVERTED, "call ids made unique")
        self._used.add(found)
        return found
