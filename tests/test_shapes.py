"""The door: a request that the bridge cannot carry is refused, and what it does not know is kept."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.errors import ClientError
from bridge.shapes import check, item_type
from tests.support.parts import (
    call,
    carrier,
    custom,
    custom_call,
    custom_output,
    function,
    lowered,
    message,
    namespace,
    output,
    with_input,
    with_tools,
)


def refused(request: Any) -> ClientError:
    """The error with which a request is refused."""
    with pytest.raises(ClientError) as caught:
        check(request)
    return caught.value


def without(part: Any, field: str) -> Any:
    """A part that lacks a field."""
    return {key: value for key, value in part.items() if key != field}


TOOL = "A function tool needs a name"
CUSTOM = "A custom tool needs a name"
SPACE = "A namespace needs a name and a list of tools"
CALL = "A function_call item needs the strings call_id, name and arguments"
CUSTOM_CALL = "A custom_tool_call item needs the strings call_id, name and input"
OUTPUT = "An output item needs the string call_id"
REASONING = "The summary and the content of a reasoning item are lists or null"


@pytest.mark.parametrize(
    ("tool", "path", "mend"),
    [
        (3, "", "Every tool needs a type"),
        ({}, ".type", "Every tool needs a type"),
        ({"type": ""}, ".type", "Every tool needs a type"),
        ({"type": None}, ".type", "Every tool needs a type"),
        ({"type": "function"}, ".name", TOOL),
        (function(""), ".name", TOOL),
        (function("f", parameters="x"), ".parameters", TOOL),
        (function("f", description=[]), ".description", TOOL),
        ({"type": "custom"}, ".name", CUSTOM),
        (custom("x", format="lark"), ".format", CUSTOM),
        (custom("x", description=1), ".description", CUSTOM),
        ({"type": "namespace", "tools": []}, ".name", SPACE),
        ({"type": "namespace", "name": "n"}, ".tools", SPACE),
        (namespace("n", function("f"), {"type": "custom"}), ".tools[1].name", CUSTOM),
        (namespace("n", 5), ".tools[0]", "Every tool needs a type"),
    ],
)
@pytest.mark.parametrize(
    ("place", "root"),
    [
        (lambda tool: with_tools(function("a"), tool), "tools[1]"),
        (lambda tool: with_input(message("user", "Go."), carrier(tool)), "input[1].tools[0]"),
        (lambda tool: with_input({"type": "tool_search_output", "tools": [tool]}), "input[0].tools[0]"),
    ],
    ids=["tools", "carrier", "found"],
)
def test_a_bad_tool_is_named_by_path_and_mend(tool: Any, path: str, mend: str, place: Any, root: str) -> None:
    error = refused(place(tool))
    assert (error.status, error.param) == (400, root + path)
    assert error.message.startswith(f"{root}{path}: ")
    assert mend in error.message


@pytest.mark.parametrize(
    ("item", "path", "mend"),
    [
        (5, "", "Every input item is an object"),
        ([], "", "Every input item is an object"),
        ({"type": "additional_tools"}, ".tools", "An additional_tools item needs a list of tools"),
        ({"type": "additional_tools", "tools": None}, ".tools", "An additional_tools item needs a list of tools"),
        ({"type": "tool_search_output", "tools": 5}, ".tools", "The tools of a tool_search_output item are a list"),
        ({"type": "tool_search_output", "call_id": 5}, ".call_id", "tool_search_output"),
        (without(custom_call("c"), "call_id"), ".call_id", CUSTOM_CALL),
        (without(custom_call("c"), "input"), ".input", CUSTOM_CALL),
        (custom_call("c", ""), ".name", CUSTOM_CALL),
        ({**custom_call("c"), "input": {}}, ".input", CUSTOM_CALL),
        (custom_call("c", namespace=1), ".namespace", CUSTOM_CALL),
        (without(call("c"), "call_id"), ".call_id", CALL),
        (without(call("c"), "name"), ".name", CALL),
        (without(call("c"), "arguments"), ".arguments", CALL),
        (without(output("c"), "call_id"), ".call_id", OUTPUT),
        (without(custom_output("c"), "output"), ".output", OUTPUT),
        ({"type": "message", "content": "x"}, ".role", "A message needs a role"),
        ({"role": 1, "content": "x"}, ".role", "A message needs a role"),
        ({"type": "reasoning", "summary": "x"}, ".summary", REASONING),
        ({"type": "reasoning", "content": ["x"]}, ".content[0]", REASONING),
    ],
)
def test_a_bad_item_is_named_by_path_and_mend(item: Any, path: str, mend: str) -> None:
    error = refused(with_input(message("user", "Go."), item))
    assert (error.status, error.param) == (400, "input[1]" + path)
    assert error.message.startswith(f"input[1]{path}: ")
    assert mend in error.message


@pytest.mark.parametrize(
    ("field", "value", "mend"),
    [
        ("model", 4, "string"),
        ("stream", "yes", "boolean"),
        ("tools", {}, "list"),
        ("input", 5, "a string or a list of items"),
        ("input", {}, "a string or a list of items"),
    ],
)
def test_a_bad_field_is_named_with_what_it_should_be(field: str, value: Any, mend: str) -> None:
    error = refused({"input": "x", field: value})
    assert (error.status, error.param) == (400, field)
    assert error.message.startswith(f"{field}: ")
    assert mend in error.message


@pytest.mark.parametrize("body", [[], 5, "x", None], ids=["list", "number", "text", "null"])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    error = refused(body)
    assert (error.status, error.param) == (400, None)
    assert error.message.startswith("body: ")
    assert "JSON object" in error.message


@pytest.mark.parametrize("request_", [{"tools": [{"type": "custom"}]}, with_input(5)], ids=["tool", "item"])
def test_a_bad_request_is_refused_before_any_rule(request_: Any) -> None:
    with pytest.raises(ClientError):
        lowered(request_)


def test_the_first_fault_is_the_one_that_is_named() -> None:
    assert refused(with_input({"type": "message"}, 5, tools=[{"type": "custom"}])).param == "tools[0].name"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"input": "x", "tools": None, "tool_choice": None, "instructions": None, "model": None, "stream": None},
        {"input": None},
        {"input": "x", "instructions": [{"type": "input_text"}], "tool_choice": {"type": "function", "name": "f"}},
        with_input({}, {"type": None}, {"type": []}, {"type": "new", "call_id": 5}),
        with_input({"role": "user"}, {"role": "user", "content": None}, {"type": "reasoning"}),
        with_tools({"type": "new", "name": 5, "parameters": "x"}, namespace("n")),
    ],
    ids=["empty", "nulls", "input null", "lists", "unknown items", "bare items", "unknown tools"],
)
def test_what_the_bridge_need_not_know_is_no_fault(request_: Any) -> None:
    check(request_)


def test_unknown_fields_are_kept_everywhere() -> None:
    extra: Any = {"x-new": [1, {"a": None}]}
    items = [message("user", "Go.", **extra), call("c", **extra), output("c", **extra), {"type": "new", **extra}]
    request = with_input(*items, tools=[function("f", **extra)], **extra)
    assert lowered(request).body == request


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"type": "reasoning", "role": "x"}, "reasoning"),
        ({"role": "user"}, "message"),
        ({"type": None, "role": "user"}, "message"),
        ({"type": 5}, ""),
        ({}, ""),
    ],
)
def test_an_item_without_type_is_a_message_if_it_has_a_role(item: Any, kind: str) -> None:
    assert item_type(item) == kind
