"""The wrapper around a payload, and the scanner below it: verbatim, one layer, at every cut, honest about its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.jsonscan import Member, Scanner, decode_string
from bridge.jsonvalue import JSON
from bridge.payload import Malformed, Unwrapped, Unwrapper, breaks_off, unwrap, wrap

examples = settings(max_examples=100, deadline=None)
BOTH = list(Malformed)


def joined(text: str) -> str:
    """Text as JSON can carry it: two surrogates that stand side by side are one character there."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def escaped(payload: str) -> str:
    """A wrapper that escapes every character, in upper-case digits."""
    raw = payload.encode("utf-16-be", "surrogatepass")
    units = (raw[at : at + 2].hex().upper() for at in range(0, len(raw), 2))
    return '{"input":"' + "".join(f"\\u{unit}" for unit in units) + '"}'


WRITERS: dict[str, Callable[[str], str]] = {
    "ours": wrap,
    "ascii": lambda payload: json.dumps({"input": payload}),
    "raw": lambda payload: json.dumps({"input": payload}, ensure_ascii=False),
    "indented": lambda payload: json.dumps({"input": payload}, indent=2),
    "spaced": lambda payload: "\r\n\t " + json.dumps({"input": payload}, separators=(" ,", " : ")),
    "slashes": lambda payload: json.dumps({"input": payload}).replace("/", "\\/"),
    "all escaped": escaped,
}
PIECES = [
    '{"input":"',
    '"}',
    '"',
    "\\",
    "\\u",
    "\\ud83d",
    "/",
    "\r\n",
    "\0",
    "\ud83d",
    "\ude00",
    "\U00010000",
    "\U0010ffff",
    "é",
    " ",
    "x",
]
payloads = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
).map(joined)
writers = st.sampled_from(list(WRITERS.values()))


def fed(arguments: str, *cuts: int, parameter: str = "input") -> tuple[str, Unwrapper]:
    """The deltas of arguments that arrive in pieces, joined."""
    unwrapper = Unwrapper(parameter)
    bounds = [0, *cuts, len(arguments)]
    return "".join(unwrapper.feed(arguments[a:b]) for a, b in pairwise(bounds)), unwrapper


class TestVerbatim:
    @examples
    @given(payloads, st.sampled_from(["input", "patch", 'an "odd" \\ key', "é"]))
    def test_what_is_wrapped_is_unwrapped(self, payload: str, parameter: str) -> None:
        assert unwrap(wrap(payload, parameter), parameter) == Unwrapped(payload, "")

    @examples
    @given(payloads)
    def test_a_wrapper_is_json_that_utf8_can_carry(self, payload: str) -> None:
        assert json.loads(wrap(payload).encode()) == {"input": payload}

    @examples
    @given(payloads, writers)
    def test_however_a_backend_writes_it_the_payload_is_the_same(
        self, payload: str, write: Callable[[str], str]
    ) -> None:
        assert unwrap(write(payload)) == Unwrapped(payload, "")

    @examples
    @given(payloads)
    def test_exactly_one_layer_comes_off(self, payload: str) -> None:
        assert unwrap(wrap(wrap(payload))).payload == wrap(payload)

    @examples
    @given(payloads, writers)
    def test_the_deltas_of_every_cut_add_up(self, payload: str, write: Callable[[str], str]) -> None:
        arguments = write(payload)
        for cuts in [range(1, len(arguments)), *((cut,) for cut in range(len(arguments)))]:
            said, unwrapper = fed(arguments, *cuts)
            assert (said, unwrapper.payload, unwrapper.text) == (payload, payload, arguments)
            assert unwrapper.finish() == Unwrapped(payload, "")

    @examples
    @given(payloads)
    def test_nothing_is_held_back_but_an_open_escape_or_pair(self, payload: str) -> None:
        arguments = json.dumps({"input": payload})
        unwrapper = Unwrapper("input")
        said = ""
        for at, char in enumerate(arguments):
            said += unwrapper.feed(char)
            written = json.dumps({"input": said})[:-2]
            assert at < len(written) or len(arguments[: at + 1].removesuffix("}")) - len(written) < len(
                "\\ud83d\\ude00"
            )

    def test_a_long_payload_costs_its_length_and_no_more(self) -> None:
        unwrapper = Unwrapper("input")
        started = time.process_time()
        said = sum(len(unwrapper.feed(piece)) for piece in ['{"input":"', *["é\\n" * 250] * 1000, '"}'])
        assert (said, time.process_time() - started < 4) == (500_000, True)

    def test_surrogates_that_two_pieces_hold_unescaped_leave_as_one_character(self) -> None:
        unwrapper = Unwrapper("input")
        assert [unwrapper.feed(piece) for piece in ('{"input":"\ud83d', '\ude00"}')] == ["", "\U0001f600"]

    def test_a_high_surrogate_with_no_partner_leaves_as_soon_as_that_is_sure(self) -> None:
        unwrapper = Unwrapper("input")
        assert [unwrapper.feed(piece) for piece in ('{"input":"\\ud83d', "x", '\\ud83d"')] == ["", "\ud83dx", "\ud83d"]


class TestTruncated:
    @examples
    @given(payloads, writers)
    @example("{}", wrap)
    def test_every_prefix_of_a_wrapper_is_truncated(self, payload: str, write: Callable[[str], str]) -> None:
        arguments = write(payload).lstrip()
        for end in range(1, len(arguments)):
            found = unwrap(arguments[:end])
            assert found.truncated
            assert payload.startswith(found.payload)

    @pytest.mark.parametrize("policy", BOTH)
    @pytest.mark.parametrize(
        "text", ["tru", "n", "-", "1.", "2e", "2E+", '"abc', '"a\\', '"a\\u12', "[", "[1,", '{"x":12']
    )
    def test_arguments_that_end_too_early_are_truncated_whatever_they_were(self, text: str, policy: Malformed) -> None:
        assert unwrap(text, policy=policy) == Unwrapped("", "", truncated=True)

    def test_a_payload_whose_wrapper_is_still_open_is_truncated(self) -> None:
        assert unwrap('{"input":"abc","why":').truncated


def case(arguments: str, salvage: str, raw: str, name: str) -> object:
    """A row of the table of malformed arguments."""
    return pytest.param(arguments, salvage, raw, id=name)


def same(arguments: str, payload: str, name: str) -> object:
    """A row for arguments that both policies read alike."""
    return case(arguments, payload, payload, name)


def as_it_came(arguments: str, name: str) -> object:
    """A row for arguments that are delivered as their text."""
    return case(arguments, arguments, arguments, name)


def only_salvaged(arguments: str, payload: str, name: str) -> object:
    """A row for arguments that have one reading, which `raw` does not take."""
    return case(arguments, payload, arguments, name)


MALFORMED = pytest.mark.parametrize(
    ("arguments", "salvage", "raw"),
    [
        same("", "", "nothing"),
        same(" \r\n\t", "", "blanks"),
        same("{}", "", "empty object"),
        same(" { } ", "", "empty object with blanks"),
        same("{}{}", "", "empty object twice"),
        same('{"input":"a","why":"b"}', "a", "extra key behind"),
        same('{"why":"b","input":"a"}', "a", "extra key in front"),
        same('{"why":["input",{"input":"no"}],"input":"a"}', "a", "the key inside another value"),
        same('{"input":"a"}{"input":"a"}', "a", "same object twice"),
        same('{"input":"a"}\n{"input":"b"}', "a", "another object behind"),
        same('{"x":1}{"input":"a"}', "a", "the key in the second object"),
        same('{"input":"a","input":"b"}', "a", "the key twice"),
        same('{"input":1,"input":"b"}', "b", "the key first with a number"),
        same('{"input":"a"}</tool_call>', "a", "markup behind"),
        same('{"input":"a"}}', "a", "one brace too many"),
        same('{"input":"a",}', "a", "trailing comma"),
        same('{"input":"a","why"}', "a", "key without a value"),
        same('{"input":"a" "why":1}', "a", "no comma"),
        same('{"input":"a","n":01}', "a", "a number that is none"),
        same('{"input":"\\q\\u12G4\\u"}', "\\q\\u12G4\\u", "unknown escapes"),
        same('{"input":"\\u1u0041"}', "\\u1u0041", "an escape inside an escape"),
        as_it_came("*** Begin Patch\n", "plain text"),
        as_it_came("text", "a word"),
        as_it_came("const x = 1;", "code"),
        as_it_came("1 + 1", "code that begins with a number"),
        as_it_came('"use strict"; run()', "code that begins with a string"),
        as_it_came('{ return "x" }', "code in braces"),
        as_it_came("{'input':'x'}", "single quotes"),
        as_it_came('{"input":01}', "a bad number under the key"),
        as_it_came('{"input":01', "a bad number at the end"),
        as_it_came("]", "a bracket that closes nothing"),
        as_it_came("[,]", "a list of a comma"),
        as_it_came("[1 2]", "a list without commas"),
        as_it_came('{"x":[1}', "a bracket closed by a brace"),
        as_it_came('{"a":"x","b":"y"}', "several strings"),
        as_it_came('{"a":1}', "no string"),
        as_it_came('{"a":{"input":"x"}}', "the key one level down"),
        as_it_came('["x"]', "a list"),
        as_it_came('{"a":"x"}{"a":"y"}', "two objects that differ"),
        as_it_came('{}{"a":"x"}', "an empty object and another"),
        as_it_came("{}[]", "an empty object and a list"),
        as_it_came('{"input":1}["x"]', "a list behind an object"),
        as_it_came("123", "a bare number"),
        only_salvaged('{"code":"a\\nb"}', "a\nb", "another key"),
        only_salvaged('{"n":1,"code":"a"}', "a", "another key beside a number"),
        only_salvaged('{"code":"a"}{"code":"a"}', "a", "another key twice"),
        only_salvaged('{"code":"\\ud83d\\ude00"}', "\U0001f600", "another key, a pair of escapes"),
        only_salvaged(' "a\\nb" ', "a\nb", "a bare string"),
        only_salvaged('"\\q\t\\ud83d\\ude00"', "\\q\t\U0001f600", "a bare string with odd escapes"),
        only_salvaged('"{\\"input\\":\\"a\\"}"', '{"input":"a"}', "a bare string of a wrapper"),
        only_salvaged('{"code":"\ud83d\ude00"}', "\U0001f600", "another key, a pair in two halves"),
        only_salvaged('"\ud83d\ude00"', "\U0001f600", "a bare string, a pair in two halves"),
        only_salvaged('{"input":123}', "123", "a number"),
        only_salvaged('{"input":-1.50e+1}', "-1.50e+1", "a number as it is written"),
        only_salvaged('{"input":true}', "true", "a boolean"),
        only_salvaged('{"input": null }', "null", "null"),
        only_salvaged('{"input": [1, "x"] }', '[1, "x"]', "a list under the key"),
        only_salvaged('{"input":{"input": "x"}}', '{"input": "x"}', "an object under the key"),
        only_salvaged('{"why":"w","input":[]}', "[]", "a list beside a string"),
    ],
)


NOISE = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    '"input":',
    '{"input":"',
    '"}',
    "\\",
    "u0",
    "\\ud83d\\ude00",
    "1",
    "tru",
    "e",
    " ",
    "-.",
]


class TestMalformed:
    @MALFORMED
    def test_salvage(self, arguments: str, salvage: str, raw: str) -> None:
        assert unwrap(arguments).payload == salvage

    @MALFORMED
    def test_raw(self, arguments: str, salvage: str, raw: str) -> None:
        assert unwrap(arguments, policy=Malformed.RAW).payload == raw

    @MALFORMED
    @pytest.mark.parametrize("policy", BOTH)
    def test_it_is_named_and_not_taken_for_a_truncation(
        self, arguments: str, salvage: str, raw: str, policy: Malformed
    ) -> None:
        found = unwrap(arguments, policy=policy)
        assert (bool(found.defect), found.truncated) == (True, False)

    @MALFORMED
    @pytest.mark.parametrize("policy", BOTH)
    def test_deltas_and_tail_add_up_at_every_cut(
        self, arguments: str, salvage: str, raw: str, policy: Malformed
    ) -> None:
        for cuts in [range(1, len(arguments)), *((cut,) for cut in range(len(arguments)))]:
            said, unwrapper = fed(arguments, *cuts)
            found = unwrapper.finish(policy)
            assert found.payload == said + found.tail == (salvage if policy is Malformed.SALVAGE else raw)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.sampled_from(NOISE), max_size=12).map("".join), st.sampled_from(BOTH))
    def test_no_cut_changes_what_is_decided(self, arguments: str, policy: Malformed) -> None:
        whole = unwrap(arguments, policy=policy)
        said, unwrapper = fed(arguments, *range(1, len(arguments)))
        found = unwrapper.finish(policy)
        assert (found.payload, found.defect, found.truncated) == (whole.payload, whole.defect, whole.truncated)
        assert found.truncated or said + found.tail == whole.payload

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ('{"input":"a","x":1,"y":2,"x":3}', ["extra keys: x, y"]),
            ('{"input":"a"}{"input":"a"}', ["more than one JSON value"]),
            ('{"input":"a","input":"a"}', ["the key more than once"]),
            ('{"input":"\\q","x":1}<', ["unknown escapes", "extra keys: x", "not JSON"]),
        ],
    )
    def test_each_defect_is_said(self, arguments: str, words: list[str]) -> None:
        assert [word for word in words if word not in unwrap(arguments).defect] == []

    @pytest.mark.parametrize(
        "arguments", ['{"input":"a\nb\0\x1b"}', '{"input":"a\r\nb\\t\x0b"}', '{"inp\\u0075t":"\x7f"}']
    )
    def test_literal_control_characters_are_accepted(self, arguments: str) -> None:
        assert unwrap(arguments).payload == next(iter(json.loads(arguments, strict=False).values()))

    @pytest.mark.parametrize("text", [wrap("x") + wrap("x"), wrap("x") + " more {", "plain"])
    def test_the_payload_streams_although_defects_follow(self, text: str) -> None:
        streamed = ["x"] if text.startswith("{") else []
        unwrapper = Unwrapper("input")
        assert [piece for piece in map(unwrapper.feed, text) if piece] == streamed


keys = st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF), max_size=4)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=8,
)


def is_json(text: str) -> bool:
    """Whether Python's own parser takes the text, control characters included."""
    constants: list[str] = []
    try:
        json.loads(text, strict=False, parse_constant=constants.append)
    except ValueError:
        return False
    return not constants


class TestScanner:
    @examples
    @given(values, st.integers(0, 3))
    def test_it_finds_where_every_value_stands(self, value: JSON, indent: int) -> None:
        text = json.dumps(value, indent=indent or None) + "\n"
        scanner = Scanner(None)
        for char in text:
            scanner.feed(char)
        assert [text[start:end] for start, end in scanner.values] == [text.strip()]
        expected = list(value.items()) if isinstance(value, dict) else []
        found = [(each.key, json.loads(text[each.start : each.end]), each.is_string) for each in scanner.members]
        assert found == [(name, inner, isinstance(inner, str)) for name, inner in expected]

    @examples
    @given(values)
    def test_a_prefix_breaks_off_unless_it_is_json_itself(self, value: JSON) -> None:
        text = json.dumps(value, ensure_ascii=False)
        assert [breaks_off(text[:end]) for end in range(1, len(text) + 1)] == [
            not is_json(text[:end]) for end in range(1, len(text) + 1)
        ]

    @settings(max_examples=300, deadline=None)
    @given(st.text('{}[]",:-+.eE01 9truefalsn', max_size=12), values, st.integers(0, 40), st.integers(0, 2))
    def test_it_is_as_strict_as_a_parser(self, noise: str, value: JSON, at: int, gone: int) -> None:
        text = json.dumps(value, ensure_ascii=False).replace("\\", "")
        text = text[:at] + noise + text[at + gone :] + " "
        scanner = Scanner(None)
        scanner.feed(text)
        assert (not scanner.broken and not scanner.incomplete and len(scanner.values) == 1) == is_json(text)

    @pytest.mark.parametrize("opening", ["[", '{"x":'])
    def test_depth_costs_nothing(self, opening: str) -> None:
        assert breaks_off(opening * 20_000)

    def test_a_value_behind_a_value_needs_no_blank(self) -> None:
        scanner = Scanner(None)
        scanner.feed('1"a"[]true{}')
        assert scanner.values == [(0, 1), (1, 4), (4, 6), (6, 10), (10, 12)]

    def test_members_of_inner_objects_are_not_its_own(self) -> None:
        scanner = Scanner("x")
        assert scanner.feed('[{"x":"no"}]{"y":{"x":"no"},"x":"yes"}') == "yes"
        assert scanner.members == [Member("y", False, 17, 27), Member("x", True, 32, 37)]

    @pytest.mark.parametrize(
        ("text", "open_"),
        [("", False), ('{"x":', False), ('{"x":"', True), ('{"x":"\\', True), ('{"x":"a"', False), ('{"y":"', False)],
    )
    def test_open_says_whether_more_of_the_string_may_come(self, text: str, open_: bool) -> None:
        scanner = Scanner("x")
        scanner.feed(text)
        assert scanner.open is open_

    def test_odd_escapes_elsewhere_do_not_count(self) -> None:
        scanner = Scanner("x")
        scanner.feed('{"\\q":"\\q","x":"a"}')
        assert (scanner.odd_escapes, scanner.members[0].key) == (False, "\\q")

    @pytest.mark.parametrize("text", ["", "breaks", '{"a":1', '{"a":1}', "tr"])
    def test_breaks_off(self, text: str) -> None:
        assert breaks_off(text) is (text in ('{"a":1', "tr"))

    def test_decode_string_reads_as_leniently(self) -> None:
        assert decode_string('"a\\u00e9\\q\n\\/"') == "aé\\q\n/"
