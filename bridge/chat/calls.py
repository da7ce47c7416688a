"""Which call a fragment of `tool_calls` belongs to, and what the call adds up to: one rule for all servers.

Identity comes from the index, then the id, then the order. Seen in the wild: no index or the same one for two calls;
ids missing, empty, late, split over chunks, repeated or different in every chunk; names repeated in every chunk, split,
or empty later; a second entry without id and name that carries the arguments of the first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from bridge.chat.arguments import Arguments
from bridge.jsonvalue import JSON, Object, as_index, as_object, as_text, dump


class Fragment(NamedTuple):
    """One entry of a `tool_calls` list."""

    place: int | None
    """The wire's `index`, if it has one."""
    id: str
    name: str
    arguments: JSON
    custom: bool
    extra: Object

    @classmethod
    def read(cls, entry: Object) -> Fragment:
        """An entry as it came, of a function or of a chat-native custom tool."""
        custom = entry.get("type") == "custom" or "custom" in entry
        inner = as_object(entry.get("custom" if custom else "function"))
        extra = as_object(entry.get("extra_content")) or as_object(inner.get("extra_content"))
        arguments = inner.get("input" if custom else "arguments")
        identity = as_text(entry.get("id"))
        return cls(as_index(entry.get("index")), identity, as_text(inner.get("name")), arguments, custom, extra)


@dataclass
class Call:
    """A call so far."""

    custom: bool
    id: str = ""
    name: str = ""
    arguments: Arguments = field(default_factory=Arguments)
    payload: list[str] = field(default_factory=list)
    extra: Object = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    """Pieces of its text that are certain, until somebody takes them."""

    @property
    def text(self) -> str:
        """Its arguments, or its payload."""
        return "".join(self.payload) if self.custom else self.arguments.text

    def take(self) -> str:
        """What is ready."""
        taken = "".join(self.ready)
        self.ready.clear()
        return taken

    @property
    def begun(self) -> bool:
        """Whether any of its text has come."""
        return bool(self.payload) if self.custom else self.arguments.begun

    @property
    def complete(self) -> bool:
        """Whether nothing can follow. A free-form payload does not tell."""
        return not self.custom and self.arguments.complete


class Assembly:
    """The calls of one answer, in the order in which they began."""

    def __init__(self, declared: Collection[str]) -> None:
        """`declared`: the names of the tools that the request offers."""
        self.calls: list[Call] = []
        self._declared = declared
        self._at: dict[int, Call] = {}

    def add(self, entry: Object, *, whole: bool = False) -> None:
        """One entry of a `tool_calls` list; `whole`: of a message, where a name alone makes a call of its own."""
        fragment = Fragment.read(entry)
        if fragment.place in self._at and not (fragment.id or fragment.name or fragment.extra):
            # Nearly all of them: the next piece of a call that is known by its index.
            self._take(self._at[fragment.place], fragment)
            return
        own = whole and fragment.name and not fragment.id and fragment.place is None
        call = self._begin(fragment) if own else self._find(fragment)
        self._identify(call, fragment)
        if fragment.extra:
            call.extra = {**call.extra, **fragment.extra}
        self._take(call, fragment)

    def _find(self, fragment: Fragment) -> Call:
        known = self._known(fragment)
        if known is None or self._begins(known, fragment):
            known = self._begin(fragment)
        if fragment.place is not None:
            self._at[fragment.place] = known
        return known

    def _begin(self, fragment: Fragment) -> Call:
        self.calls.append(Call(fragment.custom))
        return self.calls[-1]

    def _known(self, fragment: Fragment) -> Call | None:
        """The call that a fragment names, or can only mean."""
        last = self.calls[-1] if self.calls else None
        if fragment.place is not None and fragment.place in self._at:
            return self._at[fragment.place]
        same_id = [call for call in self.calls if fragment.id and call.id == fragment.id]
        if same_id and (fragment.place is None or not fragment.name):
            return same_id[-1]
        if fragment.name or last is None:
            return last if fragment.place is None and not fragment.id else None
        late_id = fragment.place is None and not last.id
        return last if not fragment.id or late_id else None

    def _begins(self, call: Call, fragment: Fragment) -> bool:
        """Whether a fragment at a known place begins another call."""
        if not fragment.name or not call.name:
            return False
        other_id = bool(fragment.id and call.id and fragment.id != call.id)
        if call.complete:
            again = _text(fragment.arguments).strip() in ("", call.arguments.text.strip())
            return other_id or (fragment.name != call.name) or (not fragment.id and not again)
        other_name = fragment.name != call.name
        if call.begun:
            return other_id and other_name
        both_declared = {fragment.name, call.name} <= set(self._declared)
        unplaced = fragment.place is None and not fragment.id
        return other_name and ((unplaced and both_declared) or (other_id and not self._continues(call, fragment)))

    def _identify(self, call: Call, fragment: Fragment) -> None:
        if not call.id:
            call.id = fragment.id
        elif fragment.id not in ("", call.id) and not (fragment.name or fragment.arguments or call.begun):
            call.id += fragment.id
        if not call.name:
            call.name = fragment.name
        elif fragment.name not in ("", call.name) and not call.begun:
            call.name = call.name + fragment.name if self._continues(call, fragment) else fragment.name

    def _continues(self, call: Call, fragment: Fragment) -> bool:
        """Whether a name is the next piece of one: what it makes is declared, or neither piece is."""
        joined = call.name + fragment.name
        if any(name.startswith(joined) for name in self._declared):
            return True
        return call.name not in self._declared and fragment.name not in self._declared

    def _take(self, call: Call, fragment: Fragment) -> None:
        if piece := self._append(call, fragment.arguments):
            call.ready.append(piece)

    def _append(self, call: Call, arguments: JSON) -> str:
        if call.custom:
            piece = as_text(arguments)
            if piece:
                call.payload.append(piece)
            return piece
        if isinstance(arguments, str) or arguments is None:
            return call.arguments.add(arguments or "")
        return call.arguments.replace(dump(arguments))


def _text(arguments: JSON) -> str:
    return arguments if isinstance(arguments, str) else "" if arguments is None else dump(arguments)
