"""Two instances in processes of their own, which hash in different orders, make the same bytes of the same exchange."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.exchange import Exchange
from bridge.settings import Settings
from tests.e2e.turns import Call, Turn, custom
from tests.e2e.wire import WIRES
from tests.support.instance import Instance, instance
from tests.support.sse_tools import request
from tests.test_request import LEAVES, MODES, REQUESTS, SPACES, WORDS

type Two = tuple[Instance, Instance]

MEMBERS = st.one_of(
    st.builds(custom, LEAVES, WORDS),
    st.builds(lambda space, leaf: Call(f"{space}__{leaf}", "{}"), SPACES, LEAVES),
    st.builds(Call, LEAVES, st.sampled_from(['{"input": 1}', '{"code": "x"}', "no", '{"input": "a", "input": "b"}'])),
)
TURNS = st.builds(Turn, st.lists(MEMBERS, max_size=3).map(tuple), WORDS, WORDS)
WIDE = [{"type": "namespace", "name": "n" * 60, "tools": [{"type": "custom", "name": f"é{n}"} for n in range(9)]}]


@pytest.fixture(scope="module")
def two() -> Iterator[Two]:
    """The instances."""
    with instance(1) as one, instance(2) as other:
        yield one, other


def asked(body: Any, wire: str, turn: Turn, options: Any, cuts: list[int], **fields: Any) -> Any:
    """An exchange as an instance reads it; a turn's calls by number are of the tools that the backend was told."""
    plain = json.dumps(body).encode()
    pieces = b"".join(piece for piece in WIRES[wire].answer(turn, 1).pieces if isinstance(piece, bytes))
    marks = [0, *sorted(cut % len(pieces) for cut in cuts), len(pieces)]
    return {
        "body": plain.decode("latin-1"),
        "options": {**options, "backend": wire},
        "pieces": [pieces[start:end].decode("latin-1") for start, end in pairwise(marks)],
        "whole": False,
        "ends": True,
        "seed": "one",
        **fields,
    }


def test_they_hash_in_different_orders(two: Two) -> None:
    one, other = (json.loads(each.ask(None)) for each in two)
    assert one != other
    assert sorted(one) == sorted(other)


@pytest.mark.parametrize("wire", WIRES)
def test_hashed_names_are_the_same_and_so_is_what_they_are_lifted_to(two: Two, wire: str) -> None:
    body = request(tools=WIDE)
    opened = Exchange.open(json.dumps(body).encode(), Settings.model_validate({"backend": wire}))
    turn = Turn(tuple(custom(tool.flat, "x") for tool in opened.names.tools), "m", "r")
    one, other = (each.ask(asked(body, wire, turn, {}, [])) for each in two)
    assert one == other
    told = json.loads(one)
    assert told["sent"] == opened.request.decode("latin-1")
    assert "".join(told["said"]).count("response.custom_tool_call_input.done") == 2 * len(opened.names.tools)


@settings(max_examples=150)
@given(
    REQUESTS,
    st.sampled_from(sorted(WIRES)),
    TURNS,
    MODES,
    st.lists(st.integers(0, 10_000), max_size=4),
    st.fixed_dictionaries({"whole": st.booleans(), "ends": st.booleans()}),
    st.booleans(),
)
def test_the_same_request_and_the_same_answer_give_the_same_bytes(
    two: Two, body: Any, wire: str, turn: Turn, modes: Any, cuts: list[int], handled: Any, streams: bool
) -> None:
    exchange = asked({**body, "stream": streams}, wire, turn, modes, cuts, **handled)
    one, other = (each.ask(exchange) for each in two)
    assert one == other
    assert one.startswith("{")
