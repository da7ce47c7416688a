"""The items of a thread → chat messages, in the order that strict templates and servers demand.

One system message at the start. What the model said in one go (text, reasoning, all parallel calls) is one assistant
message; the outputs follow it directly, in call order; whatever stood between a call and its output follows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.carried import Carried
from bridge.chat.content import joined, lower_content
from bridge.jsonvalue import JSON, Object, as_objects, as_text
from bridge.ledger import Ledger, Rule
from bridge.settings import Reasoning, Settings
from bridge.shapes import CALLS, OUTPUTS

_SYSTEM = ("system", "developer")


@dataclass
class _Turn:
    """What the model said in one go."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    details: list[JSON] = field(default_factory=list)
    calls: list[Object] = field(default_factory=list)
    extras: Object = field(default_factory=dict)


class Conversation:
    """Takes items one by one; `messages` are the result."""

    def __init__(self, items: list[Object], settings: Settings, ledger: Ledger, *, recent_reasoning: bool) -> None:
        """`recent_reasoning`: reasoning from before the last message of the user stays out."""
        self.messages: list[JSON] = []
        self._settings = settings
        self._ledger = ledger
        self._turn = _Turn()
        self._outputs = _outputs_by_call(items)
        self._ids = _Ids({as_text(item.get("call_id")) for item in items if item.get("type") in CALLS}, ledger)
        said = [place for place, item in enumerate(items) if item.get("role") == "user" and not _is_moved(items, place)]
        self._reasoning_from = max(said, default=-1) if recent_reasoning else -1

    def instruct(self, text: str) -> None:
        """The system message."""
        if text:
            self.messages.append({"role": "system", "content": text})

    def add(self, item: Object, place: int) -> None:
        """The next item; `place` is its place in the list that `__init__` was given."""
        kind, path = as_text(item.get("type")), _at(place)
        if kind == "reasoning":
            self._reason(item, place)
        elif kind in CALLS:
            self._turn.calls.append({**item, "place": place})
        elif kind in OUTPUTS:
            self.flush()
        elif item.get("role") == "assistant":
            content = lower_content(item.get("content"), path, self._ledger)
            self._turn.texts.append(self._text(content, path))
        else:
            self._say(item, path)

    def flush(self) -> None:
        """The turn is over: its message, and the outputs of its calls."""
        turn, self._turn = self._turn, _Turn()
        text = joined(turn.texts)
        if not turn.calls and not text.strip():
            if turn.thoughts:
                self._ledger.add(Rule.DROPPED, "reasoning that led to nothing")
            return
        calls = [self._call(call, turn.extras) for call in turn.calls]
        message: Object = {"role": "assistant", "content": self._with_thoughts(text, turn) or None}
        message |= self._reasoning(turn)
        if calls:
            message["tool_calls"] = list[JSON](calls)
        self.messages.append(message)
        for call, original in zip(calls, turn.calls, strict=True):
            self._output(as_text(call["id"]), original)

    def _say(self, item: Object, path: str) -> None:
        if self._turn.calls:
            self._ledger.add(Rule.CONVERTED, "message moved behind the outputs", path)
        self.flush()
        content = lower_content(item.get("content"), path, self._ledger)
        role = as_text(item.get("role")) or "user"
        if not content or (isinstance(content, str) and not content.strip()):
            self._ledger.add(Rule.DROPPED, "empty message", path)
            return
        if role in _SYSTEM:
            role = str(self._settings.developer_role)
            self._ledger.add(Rule.CONVERTED, f"later developer message to {role}", path)
        self.messages.append({"role": role, "content": content})

    def _reason(self, item: Object, place: int) -> None:
        carried = Carried.unpack(as_text(item.get("encrypted_content"))) or Carried(_readable(item))
        self._turn.extras |= carried.extras
        earlier = place < self._reasoning_from
        if earlier or self._settings.reasoning is Reasoning.DROP:
            self._ledger.add(Rule.DROPPED, f"reasoning{' of earlier turns' if earlier else ''}", _at(place))
            return
        if carried.text:
            self._turn.thoughts.append(carried.text)
        self._turn.details += carried.details

    def _text(self, content: str | list[JSON], path: str) -> str:
        """The text of an assistant message, which can hold nothing else."""
        if isinstance(content, str):
            return content
        self._ledger.add(Rule.DROPPED, "what is no text in an assistant message", path)
        return joined([as_text(part.get("text")) for part in as_objects(content)])

    def _with_thoughts(self, text: str, turn: _Turn) -> str:
        if self._settings.reasoning is not Reasoning.THINK or not turn.thoughts:
            return text
        return f"<think>\n{joined(turn.thoughts)}\n</think>\n\n{text}"

    def _reasoning(self, turn: _Turn) -> Object:
        mode = self._settings.reasoning
        fields: Object = {"reasoning_details": turn.details} if turn.details else {}
        if turn.thoughts and mode is not Reasoning.THINK:
            fields[str(mode)] = joined(turn.thoughts)
        return fields

    def _call(self, call: Object, extras: Object) -> Object:
        identity = as_text(call.get("call_id"))
        name = as_text(call.get("name"))
        made: Object = {"id": self._ids.of_call(identity)}
        if call.get("type") == "custom_tool_call":
            made |= {"type": "custom", "custom": {"name": name, "input": as_text(call.get("input"))}}
        else:
            made |= {"type": "function", "function": {"name": name, "arguments": as_text(call.get("arguments"))}}
        return {**made, "extra_content": extras[identity]} if identity in extras else made

    def _output(self, identity: str, call: Object) -> None:
        place = call["place"]
        for path, output in self._outputs.get(place if isinstance(place, int) else -1, []):
            content = lower_content(output.get("output"), path, self._ledger)
            self.messages.append({"role": "tool", "tool_call_id": identity, "content": content})


class _Ids:
    """Call ids that are unique in a request: some servers number calls anew in every turn."""

    def __init__(self, originals: set[str], ledger: Ledger) -> None:
        self._ledger = ledger
        self._originals = originals
        self._seen: set[str] = set()

    def of_call(self, identity: str) -> str:
        """The first call keeps its id, so that a prompt cache still fits; the next with that id gets another."""
        unique, number = identity, 1
        while unique in self._seen or (number > 1 and unique in self._originals):
            number += 1
            unique = f"{identity}_{number}"
        if unique != identity:
            self._ledger.add(Rule.CONVERTED, "call ids made unique")
        self._seen.add(unique)
        return unique


def _outputs_by_call(items: list[Object]) -> dict[int, list[tuple[str, Object]]]:
    """Place of each call → its output and that one's path. Each call has one, behind it, in the order of the calls."""
    waiting: dict[str, list[int]] = {}
    outputs: dict[int, list[tuple[str, Object]]] = {}
    for place, item in enumerate(items):
        identity = as_text(item.get("call_id"))
        if item.get("type") in CALLS:
            waiting.setdefault(identity, []).append(place)
        elif item.get("type") in OUTPUTS and waiting.get(identity):
            outputs[waiting[identity].pop(0)] = [(_at(place), item)]
    return outputs


def _is_moved(items: list[Object], place: int) -> bool:
    """Whether a message of the user holds the images of the outputs before it, and no words."""
    parts = as_objects(items[place].get("content"))
    behind_output = place > 0 and items[place - 1].get("type") in OUTPUTS
    return behind_output and bool(parts) and all(part.get("type") in ("input_image", "input_file") for part in parts)


def _readable(item: Object) -> str:
    parts = as_objects(item.get("content")) or as_objects(item.get("summary"))
    return joined([as_text(part.get("text")) for part in parts])


def converse(
    instructions: JSON, items: JSON, settings: Settings, ledger: Ledger, *, recent_reasoning: bool
) -> list[JSON]:
    """The instructions and the input of a request → its chat messages."""
    if isinstance(items, str):
        only: Object = {"type": "message", "role": "user", "content": items}
        listed = [only]
    else:
        listed = as_objects(items)
    leading = next((place for place, item in enumerate(listed) if not _is_instruction(item)), len(listed))
    texts = [lower_content(item.get("content"), _at(place), ledger) for place, item in enumerate(listed[:leading])]
    told = [as_text(instructions), *(text for text in texts if isinstance(text, str))]
    conversation = Conversation(listed, settings, ledger, recent_reasoning=recent_reasoning)
    conversation.instruct("\n\n".join(text for text in told if text.strip()))
    for place, item in enumerate(listed[leading:], leading):
        conversation.add(item, place)
    conversation.flush()
    return conversation.messages


def _is_instruction(item: Object) -> bool:
    """Whether a message can stand in the one system message: it is the system's or the developer's, and all text."""
    content = item.get("content")
    texts = not isinstance(content, list) or all(as_text(part.get("text")) for part in as_objects(content))
    return item.get("role") in _SYSTEM and texts


def _at(place: int) -> str:
    """The path of an item; what the dialect is given has lost carriers and won notes."""
    return f"lowered.input[{place}]"
