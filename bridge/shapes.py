"""The shapes of a client's request that the bridge reads, checked once at the door.

Nothing is made of the models: the rules work on the plain values, and what they do not name leaves as it came. A
model's docstring is the mend that a client is told when its value does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from bridge.errors import ClientError
from bridge.jsonvalue import JSON, Object

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""The types of calls, and of their outputs, that an answer or a lowered request can hold."""

Name = Annotated[str, Field(min_length=1)]


class Shape(BaseModel):
    """An object."""

    model_config = ConfigDict(frozen=True, strict=True)


class FunctionTool(Shape):
    """A function tool needs a name; its parameters are a JSON schema or null."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None


class CustomTool(Shape):
    """A custom tool needs a name; its format is an object or null."""

    name: Name
    description: str | None = None
    format: dict[str, Any] | None = None


class NamespaceTool(Shape):
    """A namespace needs a name and a list of tools."""

    name: Name
    description: str | None = None
    tools: list[Tool]


class OtherTool(Shape):
    """Every tool needs a type."""

    type: Name


class Carrier(Shape):
    """An additional_tools item needs a list of tools."""

    tools: list[Tool]


class FoundTools(Shape):
    """The tools of a tool_search_output item are a list or null."""

    call_id: str | None = None
    tools: list[Tool] | None = None


class CustomToolCall(Shape):
    """A custom_tool_call item needs the strings call_id, name and input."""

    call_id: str
    name: Name
    input: str
    namespace: str | None = None


class FunctionCall(Shape):
    """A function_call item needs the strings call_id, name and arguments."""

    call_id: str
    name: Name
    arguments: str | dict[str, Any]
    namespace: str | None = None


class CallOutput(Shape):
    """An output item needs the string call_id, and an output that is a string or a list of content parts."""

    call_id: str
    output: str | list[dict[str, Any]]


class OtherCall(Shape):
    """The call_id of a tool_search_call or local_shell_call item is a string or null."""

    call_id: str | None = None


class Message(Shape):
    """A message needs a role, and content that is a string or a list of content parts."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class Reasoning(Shape):
    """The summary and the content of a reasoning item are lists or null."""

    summary: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None


class OtherItem(Shape):
    """Every input item is an object."""


_TOOLS: dict[str, type[Shape]] = {"function": FunctionTool, "custom": CustomTool, "namespace": NamespaceTool}
_ITEMS: dict[str, type[Shape]] = {
    "additional_tools": Carrier,
    "tool_search_output": FoundTools,
    "custom_tool_call": CustomToolCall,
    "function_call": FunctionCall,
    "tool_search_call": OtherCall,
    "local_shell_call": OtherCall,
    "custom_tool_call_output": CallOutput,
    "function_call_output": CallOutput,
    "message": Message,
    "reasoning": Reasoning,
}


def item_type(item: Mapping[str, JSON]) -> str:
    """The type of an input item; a message may leave it out."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in item else ""


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if isinstance(kind, str) and kind in _TOOLS else "other"


Tool = Annotated[
    Annotated[FunctionTool, Tag("function")]
    | Annotated[CustomTool, Tag("custom")]
    | Annotated[NamespaceTool, Tag("namespace")]
    | Annotated[OtherTool, Tag("other")],
    Discriminator(_tool_tag),
]


class Request(Shape):
    """The body of a request is a JSON object."""

    model: str | None = None
    instructions: str | list[Any] | None = None
    stream: bool | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None


NamespaceTool.model_rebuild()
Carrier.model_rebuild()
FoundTools.model_rebuild()
Request.model_rebuild()
_ITEM_SHAPES = {kind: TypeAdapter(shape).validator for kind, shape in _ITEMS.items()}
_OTHER_ITEM = TypeAdapter(OtherItem).validator


def check(body: Object) -> None:
    """Raise a `ClientError` that names the first field that does not fit, and what it should be."""
    try:
        Request.model_validate(body)
    except ValidationError as error:
        raise _misfit(error, "", Request) from None
    items = body.get("input")
    if isinstance(items, list):
        for index, item in enumerate(items):
            _check_item(item, index)
    elif items is not None and not isinstance(items, str):
        raise ClientError("input: must be a string or a list of items.", "input")


def _check_item(item: JSON, index: int) -> None:
    kind = item_type(item) if isinstance(item, dict) else ""
    try:
        _ITEM_SHAPES.get(kind, _OTHER_ITEM).validate_python(item)
    except ValidationError as error:
        raise _misfit(error, f"input[{index}]", _ITEMS.get(kind, OtherItem)) from None


def _misfit(error: ValidationError, root: str, shape: type[Shape]) -> ClientError:
    first = error.errors(include_url=False)[0]
    path, tags = _path(root, first["loc"])
    mend = ((_TOOLS.get(tags[-1]) or OtherTool) if tags else shape).__doc__
    wrong = "should be an object" if first["type"] == "model_type" else first["msg"].lower()
    return ClientError(f"{path or 'body'}: {wrong}. {mend}", path or None)


def _path(root: str, location: tuple[int | str, ...]) -> tuple[str, list[str]]:
    """A pydantic location → `input[3].tools[0].name`, and the tags of the unions on the way (behind each index)."""
    path, tags, after_index = root, [], False
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif after_index:
            tags.append(part)
        elif part != "str" and not part.startswith(("list[", "dict[")):
            path += f".{part}" if path else part
        after_index = isinstance(part, int)
    return path, tags
