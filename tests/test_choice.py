"""tool_choice, lowered."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.ledger import Rule
from tests.support.parts import Outcome, carrier, custom, function, lowered, namespace, with_input, with_tools

TOOLS = [
    function("wait"),
    custom("exec"),
    namespace("ns", function("look"), custom("edit")),
    {"type": "tool_search"},
    {"type": "web_search"},
]


def chosen(choice: Any, **options: Any) -> Outcome:
    """A request with `TOOLS` and a choice, lowered."""
    return lowered(with_tools(*TOOLS, tool_choice=choice, parallel_tool_calls=True), **options)


def named(name: str) -> Any:
    """The choice of one function."""
    return {"type": "function", "name": name}


def allowed(mode: str | None, *tools: Any) -> Any:
    """An allowed_tools choice."""
    return {"type": "allowed_tools", "tools": list(tools), **({"mode": mode} if mode else {})}


@pytest.mark.parametrize("choice", ["auto", "none", "required", None])
def test_a_word_stays(choice: Any) -> None:
    out = chosen(choice)
    assert (out.body["tool_choice"], out.noted(Rule.CHOICE)) == (choice, [])


def test_no_choice_stays_none() -> None:
    assert "tool_choice" not in lowered(with_tools(*TOOLS)).body


@pytest.mark.parametrize(
    ("choice", "flat"),
    [
        ({"type": "custom", "name": "exec"}, "exec"),
        ({"type": "custom", "name": "exec", "namespace": "functions"}, "exec"),
        ({"type": "custom", "name": "edit", "namespace": "ns"}, "ns__edit"),
        ({"type": "function", "name": "look", "namespace": "ns"}, "ns__look"),
        ({"type": "tool_search"}, "tool_search"),
    ],
    ids=["custom", "custom in functions", "custom in a namespace", "function in a namespace", "search"],
)
def test_a_reference_becomes_the_function_form(choice: Any, flat: str) -> None:
    out = chosen(choice)
    assert (out.body["tool_choice"], out.noted(Rule.CHOICE)) == (named(flat), [(flat, 1)])
    assert len(out.tools) == 5


@pytest.mark.parametrize("name", ["wait", "ns__look"])
def test_a_choice_that_is_already_lowered_is_no_news(name: str) -> None:
    out = chosen(named(name))
    assert (out.body["tool_choice"], out.noted(Rule.CHOICE)) == (named(name), [])


def test_a_carriers_tool_can_be_chosen() -> None:
    request = with_input(
        carrier(namespace("functions", custom("exec"))), tool_choice={"type": "custom", "name": "exec"}
    )
    assert lowered(request).body["tool_choice"] == named("exec")


@pytest.mark.parametrize(
    ("choice", "options"),
    [
        ({"type": "web_search"}, {}),
        ({"type": "custom", "name": "exec"}, {"custom_tools": "drop"}),
        ({"type": "function", "name": "nobody"}, {}),
        ({"type": "namespace", "name": "nobody"}, {}),
        (allowed("required", {"type": "web_search"}), {}),
        (allowed("required"), {}),
        ({"type": "allowed_tools"}, {}),
    ],
    ids=["hosted", "kill switch", "undeclared", "no such namespace", "allowed hosted", "none allowed", "no list"],
)
def test_a_choice_of_what_is_not_sent_falls_back_to_auto(choice: Any, options: Any) -> None:
    out = chosen(choice, **options)
    assert (out.body["tool_choice"], out.noted(Rule.CHOICE)) == ("auto", [("auto", 1)])
    assert (Rule.CHOICE, "auto") in out.warned()
    assert "wait" in out.names


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_filter_the_tools_and_become_their_mode(mode: str) -> None:
    out = chosen(allowed(mode, {"type": "custom", "name": "exec"}, {"type": "function", "name": "wait"}))
    assert (out.names, out.body["tool_choice"]) == (["wait", "exec"], mode)
    assert len(out.noted(Rule.CHOICE)) == 1


def test_allowed_tools_without_mode_are_auto() -> None:
    assert chosen(allowed(None, named("wait"))).body["tool_choice"] == "auto"


def test_one_required_tool_becomes_the_named_choice() -> None:
    out = chosen(allowed("required", {"type": "custom", "name": "edit", "namespace": "ns"}))
    assert (out.names, out.body["tool_choice"]) == (["ns__edit"], named("ns__edit"))


def test_one_allowed_tool_is_not_forced() -> None:
    out = chosen(allowed("auto", named("wait")))
    assert (out.names, out.body["tool_choice"]) == (["wait"], "auto")


def test_a_namespace_allows_all_its_tools() -> None:
    out = chosen(allowed("required", {"type": "namespace", "name": "ns"}))
    assert (out.names, out.body["tool_choice"]) == (["ns__look", "ns__edit"], "required")


def test_the_default_namespace_allows_the_bare_tools() -> None:
    assert chosen(allowed("auto", {"type": "namespace", "name": "functions"})).names == ["wait", "exec", "tool_search"]


def test_the_list_may_stand_inside_as_chat_has_it() -> None:
    inner = {"mode": "required", "tools": [named("wait"), {"type": "tool_search"}]}
    out = chosen({"type": "allowed_tools", "allowed_tools": inner})
    assert (out.names, out.body["tool_choice"]) == (["wait", "tool_search"], "required")


def test_a_dropped_tool_among_the_allowed_is_passed_over() -> None:
    out = chosen(allowed("required", {"type": "web_search"}, named("wait")))
    assert (out.names, out.body["tool_choice"]) == (["wait"], named("wait"))


def test_a_hosted_tool_that_passes_can_be_chosen() -> None:
    out = chosen({"type": "web_search"}, hosted_tools="passthrough")
    assert (out.body["tool_choice"], out.noted(Rule.CHOICE)) == ({"type": "web_search"}, [])


def test_one_required_hosted_tool_that_passes_keeps_the_mode() -> None:
    out = chosen(allowed("required", {"type": "web_search"}), hosted_tools="passthrough")
    assert (out.names, out.body["tool_choice"]) == (["web_search"], "required")


def test_a_custom_tool_that_passes_is_chosen_by_its_kind_and_flat_name() -> None:
    out = chosen({"type": "custom", "name": "edit", "namespace": "ns"}, custom_tools="passthrough")
    assert out.body["tool_choice"] == {"type": "custom", "name": "ns__edit"}


@pytest.mark.parametrize(
    ("tools", "options"),
    [
        ([], {}),
        ([{"type": "web_search"}], {}),
        ([custom("exec")], {"custom_tools": "drop"}),
    ],
    ids=["an empty list", "hosted only", "kill switch"],
)
@pytest.mark.parametrize("choice", ["auto", "required", {"type": "custom", "name": "exec"}], ids=str)
def test_without_tools_every_field_that_speaks_of_them_goes(tools: list[Any], options: Any, choice: Any) -> None:
    out = lowered(with_tools(*tools, tool_choice=choice, parallel_tool_calls=True), **options)
    assert out.body == {"model": "m", "input": "Go."}
    assert [what.split(": ")[1] for what, _ in out.noted(Rule.CHOICE) if ": " in what] == [
        f"{field} left out" for field in ("tools", "tool_choice", "parallel_tool_calls")
    ]


def test_a_request_without_tools_has_nothing_to_lose() -> None:
    out = lowered({"model": "m", "input": "Go."})
    assert (out.body, list(out.ledger)) == ({"model": "m", "input": "Go."}, [])


def test_parallel_calls_stay_where_there_are_tools() -> None:
    assert chosen("auto").body["parallel_tool_calls"] is True
