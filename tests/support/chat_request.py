"""A Responses request, all the way to the body that a chat backend gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from openai.types.chat import (
    ChatCompletionContentPartParam,
    ChatCompletionMessageParam,
    ChatCompletionMessageToolCallUnionParam,
    ChatCompletionToolUnionParam,
)
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter

from bridge.carried import Carried
from bridge.exchange import Exchange
from bridge.ledger import Ledger, Rule
from bridge.settings import Settings

_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
_PART: TypeAdapter[Any] = TypeAdapter(ChatCompletionContentPartParam)
_CALL: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageToolCallUnionParam)
_TOOL: TypeAdapter[Any] = TypeAdapter(ChatCompletionToolUnionParam)
_STREAMING: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)
_WHOLE: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsNonStreaming)


class Asked(NamedTuple):
    """The chat body, and the ledger of its making."""

    body: Any
    ledger: Ledger

    @property
    def messages(self) -> Any:
        """The messages that are sent."""
        return self.body["messages"]

    @property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message["role"] for message in self.messages]

    @property
    def calls(self) -> list[Any]:
        """All calls of the history, in order."""
        return [call for message in self.messages for call in message.get("tool_calls", [])]

    def turns(self) -> list[Any]:
        """The assistant messages."""
        return [message for message in self.messages if message["role"] == "assistant"]

    def whats(self, rule: Rule) -> list[str]:
        """What a rule fired on."""
        return [entry.what for entry in self.ledger if entry.rule is rule]


def asked(request: Any, /, **options: Any) -> Asked:
    """A request, sent to a chat backend with options as a user writes them."""
    settings = Settings.from_options({"backend": "chat", **options})
    exchange = Exchange.open(json.dumps(request).encode(), settings, seed="x", now=1)
    return Asked(json.loads(exchange.request), exchange.ledger)


def thought(text: str = "", details: tuple[Any, ...] = (), extras: Any = None) -> Any:
    """Reasoning as Codex replays it: content null, everything in the bridge's own blob."""
    blob = Carried(text, details, extras or {}).pack()
    return {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": blob}


def fit_the_sdk(body: Any) -> None:
    """Raise if the parameter types of the openai SDK do not admit the body (its lists are checked entry by entry)."""
    (_STREAMING if body.get("stream") else _WHOLE).validate_python(body)
    for adapter, entry in _entries(body):
        adapter.validate_python(entry)


def _entries(body: Any) -> Iterator[tuple[TypeAdapter[Any], Any]]:
    for tool in body.get("tools", []):
        yield _TOOL, tool
    for message in body["messages"]:
        yield _MESSAGE, message
        for part in message["content"] if isinstance(message["content"], list) else []:
            yield _PART, part
        for call in message.get("tool_calls", []):
            yield _CALL, call
