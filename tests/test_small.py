"""The smallest modules: JSON values, blobs, tapes, the ledger, errors."""

from __future__ import annotations

import json
import math
import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.blob import is_ciphertext, seal, unseal
from bridge.errors import ClientError, as_error, code_of, error_body
from bridge.jsonvalue import JSON, Object, as_index, as_object, as_objects, as_text, dump, parse, parse_quickly, without
from bridge.ledger import NAMED_AT_MOST, PATHS_KEPT, Ledger, Rule, summary
from bridge.tape import Tape

examples = settings(max_examples=100, deadline=None)
texts = st.text(st.characters(exclude_categories=())).map(
    lambda text: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=10,
)


class TestJsonValue:
    @examples
    @given(values)
    def test_what_is_dumped_is_parsed_back_through_utf8(self, value: JSON) -> None:
        assert repr(parse(dump(value).encode())) == repr(value)

    @examples
    @given(values)
    def test_dumping_is_the_same_after_parsing(self, value: JSON) -> None:
        assert dump(parse(dump(value))) == dump(value)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"a": [1, 2.0, None, True]}, '{"a":[1,2.0,null,true]}'),
            ("é\U0001f600\u2028", '"é\U0001f600\u2028"'),
            ("é\ud83d", '"\\u00e9\\ud83d"'),
            (10**400, "1" + "0" * 400),
        ],
        ids=["compact", "unescaped", "lone surrogate", "long number"],
    )
    def test_dump(self, value: JSON, text: str) -> None:
        assert dump(value) == text

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "{} x",
            "NaN",
            "[Infinity]",
            "-Infinity",
            "1e999",
            "[-1e999]",
            "'a'",
            '"\n"',
            "\ufeff{}",
            b"\xff",
            b'"\xed\xa0\x80"',
            "[" * 1_000_000,
            "9" * 5000,
        ],
        ids=lambda text: repr(text[:12]),
    )
    def test_what_is_not_json_is_a_value_error(self, text: bytes | str) -> None:
        with pytest.raises(ValueError, match=r"."):
            parse(text)

    @pytest.mark.parametrize(
        ("value", "found"),
        [
            ({"a": 1}, ({"a": 1}, [], "", None)),
            ([1, {"b": 2}, "x", {}], ({}, [{"b": 2}, {}], "", None)),
            ("text", ({}, [], "text", None)),
            (7, ({}, [], "", 7)),
            (0, ({}, [], "", 0)),
            (True, ({}, [], "", None)),
            (1.0, ({}, [], "", None)),
            (None, ({}, [], "", None)),
        ],
        ids=repr,
    )
    def test_a_wrong_type_reads_as_empty(
        self, value: JSON, found: tuple[Object, list[Object], str, int | None]
    ) -> None:
        assert (as_object(value), as_objects(value), as_text(value), as_index(value)) == found

    def test_what_is_read_quickly_is_what_is_read(self) -> None:
        for text in (b'{"a":[1,2.5,"\\ud83d"]}', b"[]", b'"\xc3\xa9"'):
            assert parse_quickly(text) == parse(text)

    @examples
    @given(values)
    def test_a_compact_request_is_read_as_any_other(self, value: JSON) -> None:
        text = dump({"a": value})
        assert repr(parse(text.encode(), unique=True)) == repr(parse(text, unique=True))

    @pytest.mark.parametrize("number", ["1.0", "1e5", "1E5", "1e16", "-0", "-0.0", "1e-400", "18446744073709551616"])
    def test_a_number_of_a_compact_request_is_read_as_any_other(self, number: str) -> None:
        text = f'{{"a":{number}}}'
        assert repr(parse(text.encode(), unique=True)) == repr(parse(text, unique=True))

    @pytest.mark.parametrize(
        "text",
        [
            '{"a":1,"a":1}',
            '{"b":{"a":[],"\\u0061":[]}}',
            '{"a":1e999}',
            '{"a":NaN}',
            '{"a":' + "[" * 201 + "]" * 201 + "}",
            '{"a":' + "9" * 5000 + "}",
        ],
        ids=lambda text: text[:12],
    )
    def test_a_compact_request_is_refused_as_any_other(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            parse(text.encode(), unique=True)

    @pytest.mark.parametrize(
        "text", [b"{", b"NaN", b"[" * 202 + b"]" * 202, b"\xff"], ids=["{", "NaN", "deep", "latin"]
    )
    def test_what_is_refused_is_refused_quickly(self, text: bytes) -> None:
        with pytest.raises(ValueError, match=r"Expecting|not JSON|more than 200|codec"):
            parse_quickly(text)

    def test_an_infinity_is_not_written(self) -> None:
        with pytest.raises(ValueError, match="out of range"):
            dump({"a": float("inf")})
        assert dump({"a": "Infinity"}) == '{"a":"Infinity"}'

    def test_without_leaves_the_original_alone(self) -> None:
        value: Object = {"a": 1, "b": 2, "c": 3}
        assert (without(value, "a", "c", "x"), value) == ({"b": 2}, {"a": 1, "b": 2, "c": 3})

    def test_the_largest_double_is_parsed(self) -> None:
        assert math.isfinite(float(as_text(str(parse("1.7976931348623157e308")))))


class TestBlob:
    @examples
    @given(st.text(st.characters(exclude_categories=())))
    def test_what_is_sealed_is_unsealed(self, text: str) -> None:
        assert unseal(seal(text)) == text

    @examples
    @given(texts)
    def test_a_blob_survives_json_and_is_ascii(self, text: str) -> None:
        assert seal(text).isascii()
        assert json.loads(json.dumps(seal(text))) == seal(text)

    def test_a_blob_that_was_cut_is_nobodys(self) -> None:
        blob = seal("a summary of what went before, " * 3)
        assert {unseal(blob[:end]) for end in range(len(blob) - 4)} == {None}

    @pytest.mark.parametrize(
        "blob",
        [
            "",
            "gAAAAABm",
            "bridge.v1.",
            "bridge.v1.x",
            "bridge.v1.é",
            "bridge.v2." + seal("x").removeprefix("bridge.v1."),
            "bridge.v1." + urlsafe_b64encode(b"not packed").decode(),
            "bridge.v1." + urlsafe_b64encode(zlib.compress(b"\xff")).decode(),
        ],
    )
    def test_a_foreign_or_damaged_blob_is_none(self, blob: str) -> None:
        assert unseal(blob) is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("gAAAAABmx_-4=", True),
            ("A" * 64, True),
            ("ab+/_-09" * 8 + "==", True),
            ("A" * 63, False),
            ("Write the tests for the parser, then report what you found in a short list.", False),
            ("A" * 64 + " and more", False),
            ("gAAAA is how it begins", False),
            ("A" * 32 + "\n" + "A" * 32, False),
            ("", False),
        ],
    )
    def test_ciphertext_is_one_long_word(self, text: str, expected: bool) -> None:
        assert is_ciphertext(text) is expected


class TestTape:
    @examples
    @given(st.lists(st.binary(max_size=8)), st.integers(0, 40))
    def test_it_keeps_the_front_up_to_its_limit(self, pieces: list[bytes], limit: int) -> None:
        tape = Tape(limit)
        for piece in pieces:
            tape.add(piece)
        body = b"".join(pieces)
        assert (tape.bytes(), tape.whole) == (body[:limit], len(body) <= limit)


class TestLedger:
    def test_an_entry_counts_what_happened_again(self) -> None:
        ledger = Ledger()
        ledger.add(Rule.LOWERED, "exec", "tools[0]")
        ledger.add(Rule.HOISTED, count=9)
        ledger.add(Rule.LOWERED, "exec", "tools[3]", 2)
        assert ledger.data() == [
            {
                "side": "request",
                "rule": "lowered",
                "what": "exec",
                "count": 3,
                "paths": ["tools[0]", "tools[3]"],
                "warning": "",
            },
            {"side": "request", "rule": "hoisted", "what": "", "count": 9, "paths": [], "warning": ""},
        ]

    def test_entries_differ_by_rule_thing_warning_and_side(self) -> None:
        ledger = Ledger()
        ledger.add(Rule.DROPPED, "a")
        ledger.add(Rule.DROPPED, "b")
        ledger.add(Rule.DROPPED, "a", warning="a is gone")
        ledger.add(Rule.NOTED, "a")
        ledger.answering = True
        ledger.add(Rule.DROPPED, "a")
        found = [(entry.rule, entry.what, entry.warning, entry.answering, entry.count) for entry in ledger]
        assert found == [
            (Rule.DROPPED, "a", "", False, 1),
            (Rule.DROPPED, "b", "", False, 1),
            (Rule.DROPPED, "a", "a is gone", False, 1),
            (Rule.NOTED, "a", "", False, 1),
            (Rule.DROPPED, "a", "", True, 1),
        ]

    def test_paths_are_kept_up_to_a_bound_and_counted_on(self) -> None:
        ledger = Ledger()
        for index in range(PATHS_KEPT + 5):
            ledger.add(Rule.STRIPPED, "phase", f"input[{index}]")
        (entry,) = ledger
        assert (entry.count, entry.paths) == (PATHS_KEPT + 5, [f"input[{index}]" for index in range(PATHS_KEPT)])

    def test_rules_are_named_once_in_the_order_they_fired(self) -> None:
        ledger = Ledger()
        for rule, what in [(Rule.LOWERED, "a"), (Rule.HOISTED, ""), (Rule.LOWERED, "b")]:
            ledger.add(rule, what)
        assert ledger.rules() == ["lowered", "hoisted"]

    def test_warnings_are_the_entries_that_have_one(self) -> None:
        ledger = Ledger()
        ledger.add(Rule.LOWERED, "exec")
        ledger.add(Rule.GRAMMAR, "exec", warning="the grammar is not enforced")
        assert [(entry.rule, entry.warning) for entry in ledger.warnings()] == [
            (Rule.GRAMMAR, "the grammar is not enforced")
        ]

    def test_its_data_is_plain(self) -> None:
        ledger = Ledger()
        ledger.add(Rule.SET, "model", "model", warning="w")
        assert json.loads(json.dumps(ledger.data())) == ledger.data()
        assert [type(word) for word in ledger.rules()] == [str]


class TestSummary:
    def test_nothing_fired(self) -> None:
        assert summary(Ledger()) == "nothing to lower → nothing to lift"

    def test_both_sides_with_names_and_warnings(self) -> None:
        ledger = Ledger()
        ledger.add(Rule.HOISTED, count=9)
        ledger.add(Rule.LOWERED, "exec")
        ledger.add(Rule.GRAMMAR, "exec", warning="w")
        ledger.answering = True
        ledger.add(Rule.LIFTED, "exec")
        assert summary(ledger) == "hoisted 9, lowered 1 (exec), grammar 1 (exec) → lifted 1 (exec), 1 warning"

    def test_many_names_are_cut_short_and_many_warnings_counted(self) -> None:
        ledger = Ledger()
        ledger.answering = True
        for index in range(NAMED_AT_MOST + 1):
            ledger.add(Rule.UNKNOWN, f"t{index}", warning="w")
        ledger.add(Rule.UNKNOWN, "t0", warning="another")
        assert summary(ledger) == "nothing to lower → unknown 6 (t0, t1, t2, t3, …), 6 warnings"


class TestErrors:
    def test_a_client_error_is_in_the_shape_of_openai(self) -> None:
        error = ClientError("call_id: missing. Send one.", "input[3].call_id", 422, "missing_value")
        assert (str(error), error.status) == ("call_id: missing. Send one.", 422)
        assert error.body() == {
            "error": {
                "message": "call_id: missing. Send one.",
                "type": "invalid_request_error",
                "param": "input[3].call_id",
                "code": "missing_value",
            }
        }

    def test_a_client_error_is_a_400_unless_it_says_otherwise(self) -> None:
        assert (ClientError("m").status, ClientError("m").body()) == (
            400,
            error_body("m", "invalid_request_error", "invalid_value"),
        )

    @pytest.mark.parametrize(
        ("said", "error"),
        [({"code": 1}, {"code": 1}), ("boom", {"message": "boom"}), (None, {"message": ""})],
        ids=repr,
    )
    def test_an_error_that_is_a_text_is_its_message(self, said: JSON, error: Object) -> None:
        assert as_error(said) == error

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            ({"code": "context_length_exceeded"}, "context_length_exceeded"),
            ({"code": "their_own", "type": "rate_limit_error"}, "their_own"),
            ({"code": "", "type": "overloaded_error"}, "server_is_overloaded"),
            ({"code": None, "type": "rate_limit_error"}, "rate_limit_exceeded"),
            ({"type": "insufficient_quota", "code": 429}, "insufficient_quota"),
            ({"type": "exceed_context_size_error", "code": 400}, "context_length_exceeded"),
            ({"code": 400, "message": "This model's maximum context length is 8192 tokens"}, "context_length_exceeded"),
            ({"code": 400, "message": "the request exceeds the available context size"}, "context_length_exceeded"),
            ({"message": "Prompt is too long: 9 > 8"}, "context_length_exceeded"),
            ({"code": "400", "message": "the maximum context length is 8192 tokens"}, "context_length_exceeded"),
            ({"code": "429", "message": "slow down"}, "rate_limit_exceeded"),
            ({"code": 401}, "invalid_api_key"),
            ({"code": 429, "message": "slow down"}, "rate_limit_exceeded"),
            ({"code": 503}, "server_is_overloaded"),
            ({"code": 500, "message": "boom"}, "server_error"),
            ({"code": True}, "server_error"),
            ({"code": ["x"], "type": 3, "message": None}, "server_error"),
            ({}, "server_error"),
        ],
        ids=repr,
    )
    def test_code_of(self, error: Object, code: str) -> None:
        assert code_of(error) == code
