"""Chat chunks → Responses events, one by one, with an honest end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bridge.carried import Carried
from bridge.chat.callstream import CallWriter
from bridge.chat.output import Output
from bridge.chat.reasoning import TAGS, ReasoningSource
from bridge.chat.text import MarkupWatch, ThinkSplitter, text_of
from bridge.errors import as_error, code_of
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text
from bridge.ledger import Ledger, Rule
from bridge.usage import complete

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class Asked:
    """What an answer has to know of its request."""

    tools: frozenset[str]
    """Names of the tools that the backend was offered."""
    call_ids: frozenset[str]
    """Call ids that the thread shows."""
    model: JSON
    think_tags: bool


class ChatStream:
    """Takes the chunks of one answer. A whole answer is a stream of one chunk."""

    def __init__(self, asked: Asked, mint: Callable[..., str], now: int, ledger: Ledger) -> None:
        self._ledger = ledger
        self._source = ReasoningSource()
        self._output = Output(mint, self._seal, asked.model, now)
        self._calls = CallWriter(self._output, asked.tools, asked.call_ids, mint, ledger)
        self._think = ThinkSplitter() if asked.think_tags else None
        self._markup = MarkupWatch()
        self._held: list[tuple[bool, str]] = []
        self._finish = ""
        self._usage: JSON = None
        self._error: Object | None = None
        self._last_usage = False
        self._last_was_call = False
        self._ended = False

    def feed(self, chunk: Object) -> list[Object]:
        """One chunk."""
        if self._ended:
            return []
        if "choices" not in chunk and "choices" in as_object(chunk.get("data")):
            chunk = as_object(chunk.get("data"))
        self._error = self._error or error_in(chunk)
        if chunk.get("usage") is not None:
            self._usage = complete(chunk.get("usage"))
            self._last_usage |= not chunk.get("choices")
        made = self._output.begin()
        for choice in as_objects(chunk.get("choices"))[:1]:
            made += self._choice(choice)
        return made

    def close(self, *, finished: bool) -> list[Object]:
        """No more chunks come. `finished`: the backend said so, or the answer came whole."""
        if self._ended:
            return []
        if self._error:
            return self.fail(as_text(self._error.get("message")), code_of(self._error))
        calls_whole = self._last_was_call and self._calls.all_complete
        if self._finish == "error":
            return self.fail("The backend ended its answer with an error.")
        if not (self._finish or finished or self._last_usage or calls_whole):
            return self.fail("The backend's stream ended without an end.")
        if not (self._finish or self._calls.any or self._output.spoke):
            return self.fail("The backend's answer is empty.")
        self._ended = True
        reason = _INCOMPLETE.get(self._finish)
        made = (
            self._output.begin()
            + self._calls.finish(cut=reason is not None, ended=bool(self._finish))
            + self._say_rest()
        )
        made += self._output.close() + self._carry()
        if reason:
            return made + self._output.end("incomplete", self._more({"incomplete_details": {"reason": reason}}))
        return made + self._output.end("completed", self._more({}))

    def fail(self, message: str, code: str = "server_error") -> list[Object]:
        """The answer is over without its end."""
        if self._ended:
            return []
        self._ended = True
        self._ledger.add(Rule.FAILED, code, warning="the backend's answer failed")
        error: Object = {"code": code, "message": message or "The backend gave no reason."}
        return self._output.begin() + self._output.end("failed", self._more({"error": error}))

    def keepalive(self) -> list[Object]:
        """An event that changes nothing; the first says that the response is on its way."""
        return [] if self._ended else self._output.begin() or self._output.still()

    def _choice(self, choice: Object) -> list[Object]:
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        reasoning = self._source.read(delta)
        made = self._say(reasoning, True) if reasoning else []
        if visible := text_of(delta, self._ledger):
            for is_reasoning, text in self._think.feed(visible) if self._think else [(False, visible)]:
                if not is_reasoning or self._source.hears(TAGS):
                    made += self._say(text, is_reasoning)
        entries = as_objects(delta.get("tool_calls"))
        if function := as_object(delta.get("function_call")):
            entries = [{"index": 0, "function": function}]
        made += self._calls.take(entries, whole="delta" not in choice and "message" in choice)
        if visible or reasoning or entries:
            self._last_was_call = bool(entries)
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        return made

    def _say(self, text: str, is_reasoning: bool) -> list[Object]:
        """Text leaves when no call is open behind which it would have to wait."""
        made = self._calls.settle()
        if self._calls.open:
            self._held.append((is_reasoning, text))
            return made
        return made + self._leave(text, is_reasoning)

    def _leave(self, text: str, is_reasoning: bool) -> list[Object]:
        if is_reasoning:
            return self._output.reason(text)
        if self._markup.sees(text):
            warning = "the answer's text holds call markup: the backend's tool parser did not read a call"
            self._ledger.add(Rule.MALFORMED, "leaked call markup", warning=warning)
        return self._output.text(text)

    def _say_rest(self) -> list[Object]:
        rest = self._think.finish() if self._think else []
        held, self._held = [*self._held, *rest], []
        return [event for is_reasoning, text in held for event in self._leave(text, is_reasoning)]

    def _seal(self, text: str) -> str:
        details, self._source.details = tuple(self._source.details), []
        return Carried(text, details).pack()

    def _carry(self) -> list[Object]:
        """What came too late for the reasoning item that it belongs to."""
        details, self._source.details = tuple(self._source.details), []
        carried = Carried("", details, self._calls.extras)
        return self._output.carry(carried.pack()) if carried else []

    def _more(self, more: Object) -> Object:
        return {**more, "usage": self._usage}


def error_in(chunk: Object) -> Object | None:
    """The error that a chunk or a body is: `{"error": …}`, `{"object": "error", …}` or a `{code, msg}` envelope."""
    error = chunk.get("error")
    if error:
        return as_error(error)
    is_envelope = "choices" not in chunk and chunk.get("code") not in (None, 0, 200, "0", "200")
    if chunk.get("object") == "error" or is_envelope:
        return {"message": chunk.get("msg"), **chunk}
    return None
