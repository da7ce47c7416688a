"""Faults of the leaf modules that were found once, each with its right value, so that they stay gone."""

from __future__ import annotations

import sys

import pytest

from bridge.encoding import Decoder, decode
from bridge.errors import code_of
from bridge.names import Kind, NameTable
from bridge.payload import Unwrapper, unwrap
from bridge.settings import Settings
from bridge.sse import Frame, Reader, encode

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def test_a_last_frame_whose_line_ends_with_a_return_gets_its_blank_line() -> None:
    reader = Reader()
    reader.feed(b"data: 1\r")
    (last,) = reader.close()
    again = Reader()
    assert len(again.feed(last.raw + b"data")) == 1


@pytest.mark.parametrize("tail", ["1", " hello", "true", " done."])
def test_a_token_behind_the_payload_is_named(tail: str) -> None:
    found = unwrap('{"input":"a"}' + tail)
    assert (found.payload, found.truncated, bool(found.defect)) == ("a", False, True)


def test_a_key_outside_the_bmp_is_found_at_every_cut() -> None:
    unwrapper = Unwrapper("\U0001f600")
    said = "".join(map(unwrapper.feed, '{"\\ud83d\\ude00":"x"}'))
    assert (said, unwrapper.finish().defect) == ("x", "")


def test_flat_names_do_not_depend_on_the_order() -> None:
    def flats(*keys: tuple[str, str]) -> dict[tuple[str, str], str]:
        return {(t.namespace, t.name): t.flat for t in NameTable((Kind.FUNCTION, *k) for k in keys).tools}

    odd = ("ns", "l.eaf")
    plain = ("ns", flats(odd)[odd].removeprefix("ns__"))
    assert flats(odd, plain) == flats(plain, odd)


def test_an_empty_piece_after_the_end_changes_nothing() -> None:
    decoder = Decoder("zstd")
    assert b"".join(decoder.feed(zstd.compress(b"x"))) + b"".join(decoder.feed(b"")) == b"x"
    decoder.close()


def test_blanks_around_a_tool_name_do_not_count() -> None:
    assert Settings.from_options({"parameters": ["exec = script"]}).parameters == {"exec": "script"}


def test_an_odd_event_type_cannot_break_the_writer() -> None:
    assert Frame(encode({"type": "\ud800"}, named=True)).event == {"type": "\ud800"}


def test_an_event_type_cannot_forge_lines() -> None:
    assert len(Reader().feed(encode({"type": "a\n\ndata: {}"}, named=True))) == 1
    assert encode({"type": "a" * 1000}, named=True).startswith(b"data: ")


def test_a_number_in_a_string_is_a_number() -> None:
    assert code_of({"code": "400", "message": "maximum context length is 8192"}) == "context_length_exceeded"


@pytest.mark.parametrize("header", ["zstd", "br", "gzip, zstd"])
def test_no_bytes_are_an_empty_body(
    header: str,
) -> None:
    assert decode(b"", header, 0) == b""


def test_the_form_of_an_effort_is_named_as_its_help_has_it() -> None:
    with pytest.raises(ValueError, match="from=to"):
        Settings.from_options({"backend": "chat", "effort": ["xhigh"]})


@pytest.mark.parametrize("raw", [b"data:\n\n", b"data: \n\n"])
def test_empty_data_is_no_damage(raw: bytes) -> None:
    assert not Frame(raw).is_damaged
