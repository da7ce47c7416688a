"""The items of one answer as Responses events: one item open at a time, each with its whole life.

Events have neither sequence numbers nor more than what a strict client needs; the texts of the open item are kept until
it closes, finished items until the end, where the terminal event repeats them.
"""

from __future__ import annotations

from collections.abc import Callable

from bridge.events import added, done, ended
from bridge.jsonvalue import JSON, Object

type Mint = Callable[..., str]
"""(prefix, *parts) → an id that is unique to this exchange."""


class Output:
    """Emits items; every method returns the events that it causes."""

    def __init__(self, mint: Mint, seal: Callable[[str], str], model: JSON, now: int) -> None:
        """`seal`: the text of a reasoning item → what it carries in `encrypted_content`."""
        self.items: list[JSON] = []
        """The items that are finished."""
        self._mint = mint
        self._seal = seal
        self._response: Object = {
            "id": mint("resp_"),
            "object": "response",
            "created_at": now,
            "status": "in_progress",
            "model": model,
            "output": [],
        }
        self._begun = False
        self._kind = ""
        self._texts: list[str] = []
        self._item: Object = {}

    @property
    def index(self) -> int:
        """The place of the open item, or of the next one."""
        return len(self.items)

    @property
    def spoke(self) -> bool:
        """Whether any item was begun."""
        return bool(self.items or self._kind)

    def still(self) -> list[Object]:
        """The response is still on its way."""
        return [{"type": "response.in_progress", "response": self._response}]

    def begin(self) -> list[Object]:
        """The response is created, once."""
        if self._begun:
            return []
        self._begun = True
        return [{"type": f"response.{kind}", "response": self._response} for kind in ("created", "in_progress")]

    def text(self, text: str) -> list[Object]:
        """A piece of the visible answer."""
        opening = [] if self._kind == "message" else self.close() + self._open_message()
        self._texts.append(text)
        delta = {**self._place(), "type": "response.output_text.delta", "logprobs": [], "delta": text}
        return [*opening, delta]

    def reason(self, text: str) -> list[Object]:
        """A piece of the reasoning."""
        opening = [] if self._kind == "reasoning" else self.close() + self._open_reasoning()
        self._texts.append(text)
        return [*opening, {**self._place(), "type": "response.reasoning_text.delta", "delta": text}]

    def open_call(self, item: Object) -> list[Object]:
        """A call is announced: an item without its text."""
        closing = self.close()
        self._kind, self._item = "call", item
        return [*closing, added({**item, "status": "in_progress"}, self.index)]

    def call_text(self, kind: str, text: str) -> list[Object]:
        """A piece of the text of the open call; `kind` is that of its events."""
        return [{"type": f"response.{kind}.delta", **self._where(), "delta": text}] if text else []

    def close_call(self, kind: str, field: str, text: str, *, whole: bool) -> list[Object]:
        """The open call is finished, or will never be; only a finished one stands in the response."""
        item: Object = {**self._item, field: text, "status": "completed" if whole else "incomplete"}
        said: list[Object] = [{"type": f"response.{kind}.done", **self._where(), field: text}] if whole else []
        self._kind = ""
        said.append(done(item, self.index))
        self.items.append(item)
        return said

    def carry(self, blob: str) -> list[Object]:
        """A reasoning item that holds nothing but what must come back."""
        closing = self.close()
        item: Object = {"type": "reasoning", "id": self._mint("rs_", self.index), "summary": []}
        whole: Object = {**item, "encrypted_content": blob}
        made = [*closing, added(item, self.index), done(whole, self.index)]
        self.items.append(whole)
        return made

    def close(self) -> list[Object]:
        """The open message or reasoning is finished."""
        kind, text = self._kind, "".join(self._texts)
        self._kind, self._texts = "", []
        if kind == "message":
            return self._close_message(text)
        return self._close_reasoning(text) if kind == "reasoning" else []

    def end(self, status: str, more: Object) -> list[Object]:
        """The terminal event; `more` is what it says beside status and items."""
        return [ended(f"response.{status}", {**self._response, "status": status, "output": self.items, **more})]

    def _where(self) -> Object:
        return {"item_id": self._item["id"], "output_index": self.index}

    def _place(self) -> Object:
        return {**self._where(), "content_index": 0}

    def _open_message(self) -> list[Object]:
        self._kind = "message"
        self._item = {"type": "message", "id": self._mint("msg_", self.index), "role": "assistant", "content": []}
        part: Object = {**self._place(), "type": "response.content_part.added", "part": _output_text("")}
        return [added({**self._item, "status": "in_progress"}, self.index), part]

    def _close_message(self, text: str) -> list[Object]:
        item: Object = {**self._item, "status": "completed", "content": [_output_text(text)]}
        place = self._place()
        made: list[Object] = [
            {**place, "type": "response.output_text.done", "logprobs": [], "text": text},
            {**place, "type": "response.content_part.done", "part": _output_text(text)},
            done(item, self.index),
        ]
        self.items.append(item)
        return made

    def _open_reasoning(self) -> list[Object]:
        self._kind = "reasoning"
        self._item = {"type": "reasoning", "id": self._mint("rs_", self.index), "summary": []}
        return [added(self._item, self.index)]

    def _close_reasoning(self, text: str) -> list[Object]:
        content: list[JSON] = [{"type": "reasoning_text", "text": text}]
        item: Object = {**self._item, "content": content, "encrypted_content": self._seal(text)}
        made: list[Object] = [
            {**self._place(), "type": "response.reasoning_text.done", "text": text},
            done(item, self.index),
        ]
        self.items.append(item)
        return made


def _output_text(text: str) -> Object:
    return {"type": "output_text", "text": text, "annotations": []}
