"""Scrubbing of texts, values and streams."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge import sse
from bridge.blob import seal, unseal
from bridge.carried import Carried
from bridge.jsonvalue import JSON, Object, dump, parse
from bridge.scrub.redact import redact
from bridge.scrub.stream import scrub_answer
from bridge.scrub.text import fill, fill_json
from bridge.scrub.values import Scrubber
from bridge.scrub.words import WORDS

examples = settings(max_examples=100, deadline=None)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def renamed(name: str) -> str:
    """A stand-in for every name."""
    return "n" * len(name)


class TestText:
    @examples
    @given(texts)
    def test_filler_is_as_long_and_cut_the_same(self, text: str) -> None:
        filled = fill(text)
        assert len(filled) == len(text)
        kept = r"[0-9A-Za-z\x80-\U0010ffff]"
        assert re.sub(kept, "", filled) == re.sub(kept, "", text)

    @examples
    @given(texts)
    def test_filling_twice_is_filling_once(self, text: str) -> None:
        assert fill(fill(text)) == fill(text)

    @pytest.mark.parametrize(
        ("text", "words", "filled"),
        [
            ("Hello, world 2026!", frozenset(), "lorem, lorem 1111!"),
            ("tools.exec_command(x9)", WORDS, "tools.exec_command(lo)"),
            ("my_secret_text", WORDS, "lo_loremi_text"),
            ("привет 世界", frozenset(), "loremi lo"),
            ("ⓢⓔⓒ 🇸🇪 ⠎⠑ हिन्दी", frozenset(), "lor lo lo loremi"),
            ("", frozenset(), ""),
        ],
    )
    def test_fill(self, text: str, words: frozenset[str], filled: str) -> None:
        assert fill(text, words) == filled

    @pytest.mark.parametrize(
        ("text", "filled"),
        [
            ('{"cmd":"ls -la","n":12}', '{"nnn":"lo -lo","n":12}'),
            ('{"a": "x\\n\\u0061\\u0000"', '{"n": "l\\n\\u0061\\u0000"'),
            ('{"key" : true, "b": 12345678}', '{"nnn" : true, "n": 11111111}'),
            ('"just text"', '"lore text"'),
            ('{"\\"odd\\"": 1}', '{"\\"lor\\"": 1}'),
            ("const x = `cut", "const l = `lor"),
            ('{"input": "cut of', '{"nnnnn": "lor of'),
            ('{"a\\', '{"a\\'),
            ("", ""),
            ('{"lat":48.137154,"n":-12,"e":1234.5e12}', '{"nnn":11.111111,"n":-12,"n":1111.1e11}'),
            ('{"n":[104,117],"m":\u0661\u0662\u0663}', '{"n":[111,111],"n":111}'),
            ('{"a":"\\ud835\\udcfc\\u00e9\\u0007"}', '{"n":"\\u0061\\u0061\\u0061\\u0007"}'),
        ],
    )
    def test_arguments_keep_their_shape(self, text: str, filled: str) -> None:
        assert fill_json(text, renamed) == filled

    @examples
    @given(st.dictionaries(texts, st.one_of(texts, st.booleans(), st.none(), st.lists(texts)), max_size=4))
    def test_json_stays_json_of_the_same_shape(self, value: dict[str, Any]) -> None:
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            filled = fill_json(text, renamed)
            assert len(filled) == len(text)
            assert [type(entry) for entry in json.loads(f"[{filled}]")] == [dict]

    @pytest.mark.parametrize(
        "secret",
        [
            "sk-proj-abcDEF123456",
            "ghp_abcdefghijklmnop",
            "jane.doe+x@mail.example.co.uk",
            "gitlab.corp.internal",
            "10.20.30.40",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            "A1b2C3d4E5f6G7h8I9j0K1z2",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "build01.firma.de",
            "jane@build01",
            "fe80::1ff:fe23:4567:890a",
            "2001:db8:85a3:8d3:1319:8a2e:370:7348",
            "npm_abcdefghij",
        ],
    )
    def test_what_looks_personal_goes_from_text_that_is_kept(self, secret: str) -> None:
        for text in (f"see {secret} now", f'{{"a": "see\\n{secret}\\n"}}'):
            redacted = redact(text, {})
            assert secret not in redacted
            assert len(redacted) == len(text)
            assert redacted[:4] == text[:4]

    @pytest.mark.parametrize(
        ("text", "redacted"),
        [
            ("cat /home/jane/notes.txt", "cat /home/lore/notes.txt"),
            ("cd /Users/jane", "cd /Users/lore"),
            (r"C:\Users\jane\x", r"C:\Users\lore\x"),
            (r'{"a":"C:\\Users\\jane\\x"}', r'{"a":"C:\\Users\\lore\\x"}'),
            ("https://jane:pw@host:1/a b", "https://lore:lo@lore:1/l b"),
            ("Authorization: Bearer abcd", "loremipsumdol: loremi lore"),
            ("password=hunter2", "loremips=loremip"),
            ('{"cmd":"export API_KEY=\\"hunterabc\\""}', '{"cmd":"export lor_lor=\\"loremipsu\\""}'),
            ('{"a":"echo {\\"password\\": \\"hunterabc\\"}"}', '{"a":"echo {\\"loremips\\": \\"loremipsu\\"}"}'),
            ("SECRET_KEY = 'two words'", "loremi_lor = 'lor lorem'"),
            ("curl -u jane:pw x", "curl -l lore:lo x"),
            ("tool --token abc x", "tool --lorem lor x"),
            ("jane%40acme.de", "lore%loremi.lo"),
            ("git@gitserver:acme/x.git", "lor@loremipsu:acme/x.git"),
            (
                "-----BEGIN RSA KEY-----\nMIIabc/+=\n-----END RSA KEY-----",
                "-----lorem lor lor-----\nloremi/+=\n-----lor lor lor-----",
            ),
            ("max_tokens: 100, key: true", "max_tokens: 100, key: true"),
            ("the known one", "the other one"),
            ("plain words, 127.0.0.1 and 1.2", "plain words, 127.0.0.1 and 1.2"),
        ],
    )
    def test_redact(self, text: str, redacted: str) -> None:
        assert redact(text, {"known": "other"}) == redacted


class TestValues:
    def test_an_id_has_one_stand_in_wherever_it_stands(self) -> None:
        value: JSON = [{"call_id": "call_x"}, {"id": "fc_y", "call_id": "call_x"}, {"id": "bare"}, {"id": ""}]
        ids: JSON = [
            {"call_id": "call_0001"},
            {"id": "fc_0002", "call_id": "call_0001"},
            {"id": "0003"},
            {"id": ""},
        ]
        assert Scrubber().body(value) == ids

    def test_a_name_has_one_stand_in_as_a_name_and_as_a_key(self) -> None:
        schema: JSON = {"properties": {"secret_word": {"type": "string"}}, "required": ["secret_word"]}
        assert Scrubber().body(schema) == {
            "properties": {"aaaaaa_aaaa": {"type": "string"}},
            "required": ["aaaaaa_aaaa"],
        }

    def test_names_of_one_length_stay_different(self) -> None:
        scrubber = Scrubber()
        names = [f"p{number:03d}" for number in range(1000)]
        assert len({scrubber.name(name) for name in names}) == 1000

    def test_names_of_one_letter_grow_when_all_are_given(self) -> None:
        scrubber = Scrubber()
        assert len({scrubber.name(chr(0x4E00 + number)) for number in range(60)}) == 60

    @pytest.mark.parametrize("name", ["10.12.13.14", "+49 171 123 456 78", "15-03-198 a", "12"])
    def test_numbers_in_names_go(self, name: str) -> None:
        assert not set("23456789") & set(Scrubber().name(name))

    @pytest.mark.parametrize(
        ("value", "scrubbed"),
        [
            ({"type": "message", "content": "exec hunter"}, {"type": "message", "content": "lore loremi"}),
            ({"type": "x_call", "input": "exec hunter"}, {"type": "b_call", "input": "exec loremi"}),
            ({"role": "tool", "content": "exec hunter"}, {"role": "tool", "content": "exec loremi"}),
            ({"arguments": '{"cmd":"hunter"}'}, {"arguments": '{"cmd":"loremi"}'}),
            ({"bytes": [104, 117], "x": [[1.5, True, None]]}, {"bytes": [0, 0], "b": [[0, True, None]]}),
            ({"logprobs": [{"token": "rate", "bytes": []}]}, {"logprobs": [{"token": "lore", "bytes": []}]}),
            ({"error": {"message": "rate limit of hunter"}}, {"error": {"message": "rate limit of loremi"}}),
            ({"encrypted_content": "gAAAAhunter"}, {"encrypted_content": "gAAAA0001"}),
            ({"encrypted_content": "the task of hunter"}, {"encrypted_content": "lor lore of loremi"}),
            ({"created_at": 1_763_123_456, "n": 12}, {"created_at": 1_000_001, "n": 12}),
            ({"temperature": 0.7, "logit_bias": 0.123456789}, {"temperature": 0.7, "logit_bias": 0.5}),
            ({"metadata": {"team": "blue", "n": None}}, {"metadata": {"aaaa": "0001", "n": None}}),
            (
                {"file_url": "data:text/plain;base64,aHVudGVy"},
                {"file_url": "data:application/octet-stream;base64,AAAA"},
            ),
        ],
    )
    def test_each_kind(self, value: JSON, scrubbed: JSON) -> None:
        assert Scrubber().body(value) == scrubbed

    @pytest.mark.parametrize("kept", [False, True])
    def test_a_picture_becomes_one_pixel(self, kept: bool) -> None:
        part: Any = {"type": "function_call_output", "output": [{"image_url": "data:image/png;base64,QUJD"}]}
        scrubbed: Any = Scrubber(payloads=kept).body(part)
        assert scrubbed["output"][0]["image_url"].startswith("data:image/png;base64,iVBOR")

    def test_what_the_bridge_carries_is_scrubbed_inside(self) -> None:
        def carried(word: str, call: str) -> Carried:
            extra: JSON = {"google": {"thought_signature": word}}
            return Carried(f"{word} {word}", ({"text": word},), {call: extra})

        scrubbed: Any = Scrubber().body({"encrypted_content": carried("hunter", "call_x").pack()})
        assert Carried.unpack(scrubbed["encrypted_content"]) == carried("loremi", "call_0001")

    def test_a_summary_is_scrubbed_inside(self) -> None:
        scrubbed: Any = Scrubber().body({"type": "compaction", "encrypted_content": seal("hunter did it")})
        assert unseal(scrubbed["encrypted_content"]) == "loremi lor lo"

    def test_prose_and_payloads_are_kept_when_asked(self) -> None:
        value: Any = {
            "instructions": "Be kind to jane@example.com.",
            "input": [{"type": "custom_tool_call", "call_id": "call_secret", "input": "echo call_secret known-word"}],
        }
        scrubber = Scrubber(prose=True, payloads=True, known={"known-word"})
        assert scrubber.body(value) == {
            "instructions": "Be kind to lore@loremip.lor.",
            "input": [{"type": "custom_tool_call", "call_id": "call_000001", "input": "echo call_000001 lorem-lore"}],
        }

    def test_arguments_are_kept_when_asked(self) -> None:
        assert Scrubber(payloads=True).arguments('{"cmd":"ls /home/jane"}') == '{"cmd":"ls /home/lore"}'


def data(*events: Any) -> bytes:
    """Events as a stream."""
    return b"".join(sse.encode(event, named=False) for event in events)


def events_of(body: bytes) -> list[Object]:
    """The events of a stream."""
    reader = sse.Reader()
    return [frame.event for frame in [*reader.feed(body), *reader.close()] if frame.event]


def cut(text: str, size: int) -> list[str]:
    """Text in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


ARGUMENTS = '{"input": "const hunter = \\"x\\\\n\\"; \\u00e9 text(1)"}'


class TestStreams:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
    def test_deltas_add_up_to_what_is_done(self, size: int) -> None:
        kind = "response.function_call_arguments"
        pieces = cut(ARGUMENTS, size)
        deltas: list[Any] = [{"type": f"{kind}.delta", "item_id": "a", "delta": piece} for piece in pieces]
        done = {"type": f"{kind}.done", "item_id": "a", "arguments": ARGUMENTS}
        scrubbed, _ = scrub_answer(data(*deltas, done), (), Scrubber())
        *events, last = events_of(scrubbed)
        assert "hunter" not in scrubbed.decode()
        assert "".join(str(event["delta"]) for event in events) == last["arguments"]
        assert [len(str(event["delta"])) for event in events] == [len(piece) for piece in pieces]

    @pytest.mark.parametrize("size", [1, 4, 100])
    def test_chat_deltas_of_every_kind_are_scrubbed_as_one_text(self, size: int) -> None:
        def delta(piece: str) -> Any:
            calls = [
                {"index": 0, "function": {"arguments": piece}},
                {"index": 1, "custom": {"input": piece}},
            ]
            details = [{"type": "reasoning.text", "text": piece, "index": 0}, {"type": "other"}]
            texts = {"content": piece, "reasoning": piece, "tool_calls": calls, "reasoning_details": details}
            return {"choices": [{"index": 0, "delta": texts}]}

        scrubbed, _ = scrub_answer(data(*map(delta, cut(ARGUMENTS, size))), (), Scrubber())
        deltas: list[Any] = [event["choices"][0]["delta"] for event in events_of(scrubbed)]  # type: ignore[index,call-overload]
        assert "".join(delta["content"] for delta in deltas) == fill(ARGUMENTS)
        assert "".join(delta["reasoning"] for delta in deltas) == fill(ARGUMENTS)
        assert "".join(delta["reasoning_details"][0]["text"] for delta in deltas) == fill(ARGUMENTS)
        assert "".join(delta["tool_calls"][0]["function"]["arguments"] for delta in deltas) == fill_json(ARGUMENTS, str)
        assert "".join(delta["tool_calls"][1]["custom"]["input"] for delta in deltas) == fill(ARGUMENTS, WORDS)

    def test_a_custom_call_of_the_backend_is_a_payload(self) -> None:
        event = {"type": "response.custom_tool_call_input.delta", "item_id": "a", "delta": "text(hunter)"}
        (scrubbed,) = events_of(scrub_answer(data(event), (), Scrubber())[0])
        assert scrubbed["delta"] == "text(loremi)"

    @pytest.mark.parametrize(
        ("frame", "scrubbed"),
        [
            (b": hunter\n\n", b":\n\n"),
            (b"data: [DONE]\n\n", b"data: [DONE]\n\n"),
            (b'data: {"hunter": \n\n', b'data: {"aaaaaa": \n\n'),
            (b"data: {a\ndata: hunter}\n\n", b"data: {a\ndata: loremi}\n\n"),
            (b"data: \xff\xfe\n\n", b"data: \xff\n\n"),
            (b"data: x\n\n\n\n", b"data: l\n\n\n\n"),
            (b'event: hunter\nid: hunter\ndata: {"n": 1}\n\n', b'event: aaaaaa\ndata: {"n":1}\n\n'),
            (b'event: error\ndata: {"type":"error"}\n\n', b'event: error\ndata: {"type":"error"}\n\n'),
            (b'data: {"n":1}', b'data: {"n":1}\n\n'),
        ],
    )
    def test_odd_frames(self, frame: bytes, scrubbed: bytes) -> None:
        assert scrub_answer(frame, (), Scrubber())[0] == scrubbed

    @pytest.mark.parametrize(
        ("body", "scrubbed"),
        [
            (b'{"output": [{"type": "message", "id": "msg_x"}]}', b'{"output":[{"type":"message","id":"msg_0001"}]}'),
            (b"<html>hunter</html>", b"<lore>loremi</lore>"),
            (b"", b""),
        ],
    )
    def test_whole_answers(self, body: bytes, scrubbed: bytes) -> None:
        assert scrub_answer(body, [len(body)], Scrubber()) == (scrubbed, [len(scrubbed)])

    @examples
    @given(st.lists(st.tuples(texts, st.integers(0, 3)), max_size=6), st.data())
    def test_pieces_end_where_they_ended(self, said: list[tuple[str, int]], draw: st.DataObject) -> None:
        events: list[Any] = [{"type": f"t{number}", "id": text, "n": text} for text, number in said]
        body = data(*events)
        marks = sorted(draw.draw(st.lists(st.integers(0, len(body)), max_size=5)))
        sizes = [after - before for before, after in zip([0, *marks], [*marks, len(body)], strict=True)]
        scrubbed, moved = scrub_answer(body, sizes, Scrubber())
        assert len(moved) == len(sizes)
        if body:
            assert sum(moved) == len(scrubbed)
            ends = list(accumulate(len(sse.encode(event, named=False)) for event in events))
            new = list(accumulate(len(sse.encode(event, named=False)) for event in events_of(scrubbed)))
            for end, now in zip(accumulate(sizes), accumulate(moved), strict=True):
                assert end not in ends or now == new[ends.index(end)]


@examples
@given(
    st.recursive(
        st.one_of(texts, st.integers(), st.booleans(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["id", "name", "input", "type", "x", "arguments"]), inner, max_size=3),
        ),
    )
)
def test_scrubbing_twice_is_scrubbing_once(value: JSON) -> None:
    once = Scrubber().body(value)
    assert Scrubber().body(parse(dump(once))) == once
