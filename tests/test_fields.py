"""bridge_strip, bridge_body, bridge_model."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.ledger import Rule
from tests.support.parts import carrier, custom, function, lowered, message, namespace, with_input, with_tools


def stripped(request: Any, *paths: str) -> Any:
    """A request without what `paths` name."""
    return lowered(request, strip=paths).body


def assigned(request: Any, *entries: str) -> Any:
    """A request with what `entries` add."""
    return lowered(request, body=entries).body


# --- bridge_strip ---


@pytest.mark.parametrize("field", ["client_metadata", "prompt_cache_key", "include"])
def test_codex_only_fields_go_by_default(field: str) -> None:
    assert lowered({"input": "x", field: {"a": 1}}).body == {"input": "x"}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"reasoning": {"effort": "xhigh", "context": "all_turns"}}, {"reasoning": {"effort": "xhigh"}}),
        ({"reasoning": {"context": "all_turns"}}, {}),
        ({"text": {"verbosity": "low", "format": {"type": "text"}}}, {"text": {"format": {"type": "text"}}}),
        ({"text": {"verbosity": "low"}}, {}),
        ({"service_tier": None}, {}),
    ],
    ids=["context", "context alone", "verbosity", "verbosity alone", "tier null"],
)
def test_what_goes_by_default(given: Any, left: Any) -> None:
    assert lowered({"input": "x", **given}).body == {"input": "x", **left}


@pytest.mark.parametrize(
    "kept",
    [
        {"service_tier": "priority"},
        {"store": False, "stream": True, "temperature": 0.5, "max_output_tokens": 9},
        {"reasoning": None, "text": {}},
        {"reasoning": {"summary": "auto"}},
        {"x-unknown": {"client_metadata": 1, "include": [], "phase": "x"}},
    ],
    ids=["tier", "settings", "nothing inside", "summary", "other places"],
)
def test_what_stays_by_default(kept: Any) -> None:
    out = lowered({"input": "x", **kept})
    assert (out.body, list(out.ledger)) == ({"input": "x", **kept}, [])


def test_items_lose_their_internal_fields_by_default() -> None:
    internal = {"phase": "commentary", "internal_chat_message_metadata_passthrough": {"kinds": ["x"]}}
    plain = [message("user", "a"), message("assistant", "b", id="msg_1", status="completed")]
    out = lowered(with_input(*({**each, **internal} for each in plain), message("user", "c")))
    assert out.items == lowered(with_input(*plain, message("user", "c"))).items
    assert out.noted(Rule.STRIPPED) == [
        ("input[].phase", 2),
        ("input[].internal_chat_message_metadata_passthrough", 2),
    ]


def test_every_tool_loses_defer_loading_by_default() -> None:
    tools = [function("a", defer_loading=True), custom("b", defer_loading=False)]
    out = lowered(with_input(carrier(namespace("n", *tools)), tools=tools))
    assert [tool for tool in out.tools if "defer_loading" in tool] == []
    assert out.noted(Rule.STRIPPED) == [("tools[].defer_loading", 4)]


def test_setting_the_list_replaces_the_default() -> None:
    assert stripped({"input": "x", "include": [], "user": "u"}, "user") == {"input": "x", "include": []}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a", {}),
        ("a.b", {"a": {"d": [{"e": 1}, {"e": {"f": 2}}, 3]}}),
        ("a.b.c", {"a": {"d": [{"e": 1}, {"e": {"f": 2}}, 3]}}),
        ("a.d[].e", {"a": {"b": {"c": 1}, "d": [{}, {}, 3]}}),
        ("a.d[].e.f", {"a": {"b": {"c": 1}, "d": [{"e": 1}, {}, 3]}}),
        ("a.b=1", {"a": {"b": {"c": 1}, "d": [{"e": 1}, {"e": {"f": 2}}, 3]}}),
        ('a.b={"c": 1}', {"a": {"d": [{"e": 1}, {"e": {"f": 2}}, 3]}}),
        ("a.d[].e=1", {"a": {"b": {"c": 1}, "d": [{}, {"e": {"f": 2}}, 3]}}),
    ],
)
def test_a_path_names_a_field_of_objects_and_of_entries(path: str, left: Any) -> None:
    given = {"a": {"b": {"c": 1}, "d": [{"e": 1}, {"e": {"f": 2}}, 3]}}
    assert stripped({"input": "x", **given}, path) == {"input": "x", **left}


@pytest.mark.parametrize("path", ["b", "a.b", "a[].b", "a.b.c", "list.b", "list.a.b", "list[].c", "list[]", "a[]"])
def test_a_path_that_leads_nowhere_changes_nothing(path: str) -> None:
    request = {"input": "x", "a": 1, "list": [{"b": 1}, None]}
    out = lowered(request, strip=[path])
    assert (out.body, list(out.ledger)) == (request, [])


@pytest.mark.parametrize(("value", "goes"), [("true", True), ("1", False), ('"true"', False), ("null", False)], ids=str)
def test_a_value_goes_only_where_it_is_the_same_json(value: str, goes: bool) -> None:
    assert ("a" in stripped({"input": "x", "a": True}, f"a={value}")) is not goes


# --- bridge_body ---


@pytest.mark.parametrize(
    ("entry", "given", "result"),
    [
        ("a=1", {}, {"a": 1}),
        ("a=1", {"a": 2}, {"a": 2}),
        ("a=1", {"a": None}, {"a": None}),
        ("a:=1", {"a": 2}, {"a": 1}),
        ("a:=null", {"a": 2}, {"a": None}),
        ('a="x=y"', {}, {"a": "x=y"}),
        ("a.b.c=[1]", {}, {"a": {"b": {"c": [1]}}}),
        ("a.b=1", {"a": {"c": 2}}, {"a": {"c": 2, "b": 1}}),
        ("a.b=1", {"a": {"b": 2}}, {"a": {"b": 2}}),
        ("a.b:=1", {"a": {"b": 2, "c": 3}}, {"a": {"b": 1, "c": 3}}),
        ("a.b=1", {"a": "text"}, {"a": "text"}),
        ("a[].b=1", {"a": [{}, {"b": 2}, 3]}, {"a": [{"b": 1}, {"b": 2}, 3]}),
        ("a[].b:=1", {"a": [{"b": 2}]}, {"a": [{"b": 1}]}),
        ("a[].b=1", {"a": {"c": 2}}, {"a": {"c": 2}}),
        ("a[]=1", {"a": [2]}, {"a": [2]}),
    ],
)
def test_a_value_is_set(entry: str, given: Any, result: Any) -> None:
    assert assigned({"input": "x", **given}, entry) == {"input": "x", **result}


def test_what_codex_never_sends_can_be_added() -> None:
    out = lowered({"input": "x"}, body=["max_output_tokens=9", "chat_template_kwargs.thinking=true"])
    assert out.body == {"input": "x", "max_output_tokens": 9, "chat_template_kwargs": {"thinking": True}}
    assert out.noted(Rule.SET) == [("max_output_tokens", 1), ("chat_template_kwargs.thinking", 1)]


def test_a_value_that_is_there_already_is_no_news() -> None:
    assert list(lowered({"input": "x", "a": 1}, body=["a:=1", "a=2"]).ledger) == []


def test_the_body_is_added_to_what_was_stripped() -> None:
    assert assigned({"input": "x", "include": ["a"]}, "include=[]") == {"input": "x", "include": []}


def test_entries_of_lowered_tools_are_reached() -> None:
    assert assigned(with_tools(custom("exec"), function("f")), "tools[].strict:=true")["tools"] == [
        {**tool, "strict": True} for tool in lowered(with_tools(custom("exec"), function("f"))).tools
    ]


# --- bridge_model ---


@pytest.mark.parametrize("given", [{}, {"model": "gpt-6-astra"}, {"model": None}], ids=["absent", "another", "null"])
def test_the_model_is_replaced(given: Any) -> None:
    out = lowered({"input": "x", **given}, model="local")
    assert (out.body, out.noted(Rule.SET)) == ({"input": "x", "model": "local"}, [("model", 1)])


@pytest.mark.parametrize("option", ["", "m"], ids=["unset", "the same"])
def test_the_model_stays(option: str) -> None:
    out = lowered({"input": "x", "model": "m"}, model=option)
    assert (out.body, list(out.ledger)) == ({"input": "x", "model": "m"}, [])


# --- all three ---


def test_the_chat_dialect_sees_the_fields_as_they_came() -> None:
    options: Any = {"backend": "chat", "model": "local", "body": ["a=1"]}
    request = {"model": "m", "input": "x", "include": []}
    assert lowered(request, **options).body == request
