"""Small parts of requests, and a short way to lower one."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridge.ledger import Ledger, Rule
from bridge.settings import Settings
from bridge.tools.request import lower

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


class Outcome(NamedTuple):
    """A lowered body, and the ledger of its lowering."""

    body: Any
    ledger: Ledger

    @property
    def tools(self) -> Any:
        """The tools that are sent."""
        return self.body.get("tools", [])

    @property
    def names(self) -> list[str]:
        """The names of the tools that are sent."""
        return [tool.get("name", tool["type"]) for tool in self.tools]

    @property
    def items(self) -> Any:
        """The input that is sent."""
        return self.body["input"]

    def noted(self, rule: Rule) -> list[tuple[str, int]]:
        """(what, how often) of a rule that fired."""
        return [(entry.what, entry.count) for entry in self.ledger if entry.rule is rule]

    def warned(self) -> list[tuple[Rule, str]]:
        """(rule, what) of each warning."""
        return [(entry.rule, entry.what) for entry in self.ledger.warnings()]


def lowered(request: Any, /, **options: Any) -> Outcome:
    """A request, lowered with options as a user writes them."""
    ledger = Ledger()
    return Outcome(lower(request, Settings.model_validate(options), ledger).body, ledger)


def with_tools(*tools: Any, **fields: Any) -> Any:
    """A request that declares tools."""
    return {"model": "m", "input": "Go.", "tools": list(tools), **fields}


def with_input(*items: Any, **fields: Any) -> Any:
    """A request with a history."""
    return {"model": "m", "input": list(items), **fields}


def function(name: str, **fields: Any) -> Any:
    """A function tool."""
    return {"type": "function", "name": name, "parameters": SCHEMA, **fields}


def custom(name: str, **fields: Any) -> Any:
    """A custom tool."""
    return {"type": "custom", "name": name, **fields}


def namespace(name: str, *tools: Any, **fields: Any) -> Any:
    """A namespace of tools."""
    return {"type": "namespace", "name": name, "tools": list(tools), **fields}


def carrier(*tools: Any) -> Any:
    """An `additional_tools` item."""
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def message(role: str, *parts: Any, **fields: Any) -> Any:
    """A message; a text stands for a text part."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "message", "role": role, "content": content, **fields}


def call(identity: str, name: str = "run", arguments: Any = "{}", **fields: Any) -> Any:
    """A replayed function call."""
    return {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments, **fields}


def output(identity: str, content: Any = "done", **fields: Any) -> Any:
    """A replayed output of a function call."""
    return {"type": "function_call_output", "call_id": identity, "output": content, **fields}


def custom_call(identity: str, name: str = "exec", payload: str = "text(1)", **fields: Any) -> Any:
    """A replayed custom call."""
    return {"type": "custom_tool_call", "call_id": identity, "name": name, "input": payload, **fields}


def custom_output(identity: str, content: Any = "done", **fields: Any) -> Any:
    """A replayed output of a custom call."""
    return {"type": "custom_tool_call_output", "call_id": identity, "output": content, **fields}


def image(**fields: Any) -> Any:
    """An image."""
    return {"type": "input_image", "image_url": "data:image/png;base64,AAAA", **fields}


def text(content: str) -> Any:
    """A text part of a message or an output."""
    return {"type": "input_text", "text": content}
