"""The name table: legal, unique, reversible, and the same on any instance in any order."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.names import Key, Kind, NameTable, Tool, key

examples = settings(max_examples=150, deadline=None)
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def table(*keys: Key) -> NameTable:
    """A table of functions."""
    return NameTable((Kind.FUNCTION, namespace, name) for namespace, name in keys)


def flats(*keys: Key) -> dict[Key, str]:
    """The flat name of each declared tool."""
    return {(tool.namespace, tool.name): tool.flat for tool in table(*keys).tools}


def identity(declared: Key) -> Key:
    """What makes two declarations the same tool."""
    return key(*declared)


def digest(namespace: str, name: str) -> str:
    """The hash of a tool that has one: of its own (namespace, name) and nothing else."""
    return hashlib.sha256(f"{namespace}\0{name}".encode()).hexdigest()[:8]


namespaces = st.one_of(
    st.sampled_from(["", "functions", "a", "a_", "a__b", "a.b", "mcp__srv", "n" * 70]), st.text(max_size=3)
)
leaves = st.one_of(
    st.text("ab_.", max_size=5), st.sampled_from(["b", "_b", "b__c", "exec", "x" * 62, "x" * 64, "x" * 65]), st.text()
)
identities = st.lists(st.tuples(namespaces, leaves), max_size=8, unique_by=identity)


class TestFlatNames:
    @pytest.mark.parametrize(
        ("namespace", "name", "flat"),
        [
            ("", "exec", "exec"),
            ("functions", "exec", "exec"),
            ("collaboration", "spawn_agent", "collaboration__spawn_agent"),
            ("mcp__files", "read-file", "mcp__files__read-file"),
            ("", "x" * 64, "x" * 64),
            ("n", "x" * 61, "n__" + "x" * 61),
        ],
    )
    def test_a_legal_name_is_its_namespace_and_its_own(self, namespace: str, name: str, flat: str) -> None:
        assert table((namespace, name)).tools[0].flat == flat

    @pytest.mark.parametrize(
        ("namespace", "name", "stem"),
        [
            ("", "web.run", "web_run"),
            ("my server", "read file", "my_server__read_file"),
            ("", "x" * 65, "x" * 55),
            ("n" * 60, "leaf", "n" * 49 + "__leaf"),
            ("ns", "x" * 80, "x" * 55),
            ("", "naïve", "na_ve"),
            ("", "line\n", "line_"),
        ],
    )
    def test_a_long_or_illegal_one_gets_a_readable_stem_and_a_hash(self, namespace: str, name: str, stem: str) -> None:
        assert table((namespace, name)).tools[0].flat == f"{stem}_{digest(namespace, name)}"

    def test_a_tool_without_a_name_has_a_flat_one(self) -> None:
        assert LEGAL.fullmatch(table(("", "")).tools[0].flat)

    def test_a_bare_name_keeps_what_a_joined_one_would_share(self) -> None:
        assert flats(("a", "b"), ("", "a__b")) == {("", "a__b"): "a__b", ("a", "b"): f"a__b_{digest('a', 'b')}"}

    def test_two_joined_names_that_are_alike_are_both_hashed(self) -> None:
        assert flats(("a", "b__c"), ("a__b", "c")) == {
            ("a", "b__c"): f"a__b__c_{digest('a', 'b__c')}",
            ("a__b", "c"): f"a__b__c_{digest('a__b', 'c')}",
        }

    def test_a_hash_that_is_taken_grows(self) -> None:
        taken = table(("", "web.run")).tools[0].flat
        assert flats(("", "web.run"), ("", taken)) == {
            ("", taken): taken,
            ("", "web.run"): "web_run_" + hashlib.sha256(b"\0web.run").hexdigest()[:9],
        }

    def test_kinds_do_not_change_a_name(self) -> None:
        tools = NameTable([(Kind.CUSTOM, "functions", "exec"), (Kind.TOOL_SEARCH, "", "tool_search")]).tools
        assert tools == [
            Tool(Kind.CUSTOM, "", "exec", "exec"),
            Tool(Kind.TOOL_SEARCH, "", "tool_search", "tool_search"),
        ]

    @examples
    @given(identities)
    def test_flat_names_are_legal_and_unique(self, keys: list[Key]) -> None:
        found = [tool.flat for tool in table(*keys).tools]
        assert [flat for flat in found if not LEGAL.fullmatch(flat)] == []
        assert len(set(found)) == len(keys)

    @examples
    @given(identities.flatmap(lambda keys: st.tuples(st.just(keys), st.permutations(keys))))
    def test_they_do_not_depend_on_the_order(self, orders: tuple[list[Key], list[Key]]) -> None:
        first, second = orders
        assert flats(*first) == flats(*second)

    @examples
    @given(identities)
    def test_tools_keep_their_order(self, keys: list[Key]) -> None:
        assert [(tool.namespace, tool.name) for tool in table(*keys).tools] == [identity(each) for each in keys]

    @examples
    @given(identities)
    def test_a_table_that_was_stored_as_data_is_the_same(self, keys: list[Key]) -> None:
        first = table(*keys)
        assert NameTable.from_data(json.loads(json.dumps(first.data()))).tools == first.tools


class TestReversible:
    @examples
    @given(identities)
    def test_every_flat_name_leads_back_to_its_tool(self, keys: list[Key]) -> None:
        names = table(*keys)
        assert [names.restore(tool.flat) for tool in names.tools] == names.tools

    @examples
    @given(identities)
    def test_a_call_by_namespace_and_name_is_found(self, keys: list[Key]) -> None:
        names = table(*keys)
        found = [names.restore(tool.name, tool.namespace) for tool in names.tools if tool.namespace]
        assert found == [tool for tool in names.tools if tool.namespace]

    @examples
    @given(identities)
    def test_history_and_choice_use_the_flat_names_of_the_declarations(self, keys: list[Key]) -> None:
        names = table(*keys)
        assert [names.flatten(*each) for each in keys] == [tool.flat for tool in names.tools]
        assert [names.find(*each) for each in keys] == names.tools

    @examples
    @given(identities)
    def test_flattening_twice_is_flattening_once(self, keys: list[Key]) -> None:
        names = table(*keys)
        assert [names.flatten("", tool.flat) for tool in names.tools] == [tool.flat for tool in names.tools]

    @examples
    @given(identities, st.tuples(namespaces, leaves))
    def test_a_tool_that_is_declared_no_more_takes_nobody_elses_name(self, keys: list[Key], gone: Key) -> None:
        names = table(*(each for each in keys if identity(each) != identity(gone)))
        flat = names.flatten(*gone)
        assert LEGAL.fullmatch(flat)
        if identity(gone)[0]:
            assert flat not in {tool.flat for tool in names.tools}

    def test_a_joined_name_of_a_tool_that_is_declared_no_more_yields_to_a_bare_one(self) -> None:
        assert table(("", "a__b")).flatten("a", "b") == f"a__b_{digest('a', 'b')}"

    @examples
    @given(st.tuples(namespaces, leaves))
    def test_a_tool_that_is_declared_no_more_keeps_the_name_it_had(self, gone: Key) -> None:
        assert table().flatten(*gone) == table(gone).tools[0].flat


DECLARED: tuple[Key, ...] = (
    ("", "exec"),
    ("", "send"),
    ("collab", "spawn"),
    ("collab", "send"),
    ("clock", "sleep"),
    ("timer", "sleep"),
    ("", "web.run"),
)


class TestSpellings:
    @pytest.mark.parametrize(
        ("called", "tool"),
        [
            ("exec", ("", "exec")),
            ("functions.exec", ("", "exec")),
            ("functions__exec", ("", "exec")),
            ("collab__spawn", ("collab", "spawn")),
            ("collab.spawn", ("collab", "spawn")),
            ("spawn", ("collab", "spawn")),
            ("send", ("", "send")),
            ("collab.send", ("collab", "send")),
            ("clock.sleep", ("clock", "sleep")),
            ("web.run", ("", "web.run")),
        ],
    )
    def test_a_call_is_restored_to_the_one_tool_it_can_mean(self, called: str, tool: Key) -> None:
        assert table(*DECLARED).restore(called) == table(*DECLARED).find(*tool)

    @pytest.mark.parametrize("called", ["sleep", "nobody", "", "collab", "collab.exec", "clock.send", "Exec"])
    def test_a_call_that_fits_none_or_several_is_not_restored(self, called: str) -> None:
        assert table(*DECLARED).restore(called) is None

    @pytest.mark.parametrize(
        ("called", "namespace", "tool"),
        [
            ("sleep", "timer", ("timer", "sleep")),
            ("send", "functions", ("", "send")),
            ("exec", "functions", ("", "exec")),
            ("collab__spawn", "functions", ("collab", "spawn")),
        ],
    )
    def test_a_namespace_beside_the_name_counts(self, called: str, namespace: str, tool: Key) -> None:
        assert table(*DECLARED).restore(called, namespace) == table(*DECLARED).find(*tool)

    @pytest.mark.parametrize(
        ("name", "flat"),
        [
            ("collab.spawn", "collab__spawn"),
            ("collab__spawn", "collab__spawn"),
            ("functions.exec", "exec"),
            ("spawn", "spawn"),
            ("other.tool", f"other_tool_{digest('', 'other.tool')}"),
        ],
    )
    def test_a_misspelt_name_in_a_history_folds_to_the_flat_one(self, name: str, flat: str) -> None:
        assert table(*DECLARED).flatten("", name) == flat

    def test_find_takes_no_guess(self) -> None:
        names = table(*DECLARED)
        assert [names.find("", "spawn"), names.find("functions", "exec")] == [None, names.tools[0]]
