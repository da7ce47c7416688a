"""Content encodings: taken off at every cut, refused when damaged, cut off or unknown, stopped when they never end."""

from __future__ import annotations

import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.encoding import PIECE, DamagedError, Decoder, TooLargeError, UnknownEncodingError, decode

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

type Pack = Callable[[bytes], bytes]
LIMIT = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    """Deflate without the zlib header that the standard asks for, as some senders have it."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def in_two(pack: Pack) -> Pack:
    """Two members or frames in a row, which are one body."""
    return lambda data: pack(data[: len(data) // 3]) + pack(data[len(data) // 3 :])


def brotlied(data: bytes) -> bytes:
    """Brotli at a speed that suits tests."""
    packed: bytes = brotli.compress(data, quality=4)
    return packed


SINGLE: dict[str, tuple[str, Pack]] = {
    "zstd": ("zstd", zstd.compress),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "br": ("br", brotlied),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "small window": ("deflate", lambda data: zlib.compress(data, wbits=9)),
    "gzip in zstd": ("gzip, zstd", lambda data: zstd.compress(gzip.compress(data))),
    "three": (" br ,identity, deflate,gzip", lambda data: gzip.compress(raw_deflate(brotlied(data)))),
    "gzip in gzip": ("gzip,gzip", lambda data: gzip.compress(gzip.compress(data))),
}
ALL: dict[str, tuple[str, Pack]] = {
    **SINGLE,
    "gzip members": ("gzip", in_two(gzip.compress)),
    "zlib members": ("deflate", in_two(zlib.compress)),
    "zstd frames": ("zstd", in_two(zstd.compress)),
}
each_single = pytest.mark.parametrize(("header", "pack"), SINGLE.values(), ids=SINGLE)
each = pytest.mark.parametrize(("header", "pack"), ALL.values(), ids=ALL)
NOISE = random.Random(1).randbytes(3 * PIECE + 17)
BODIES = (b"", b'{"model":"m","input":[]}' * 3, NOISE[:40], b"\0" * (3 * PIECE))


def fed(decoder: Decoder, *pieces: bytes) -> bytes:
    """What comes out of a body that arrives in pieces and ends."""
    plain = b"".join(out for piece in pieces for out in decoder.feed(piece))
    decoder.close()
    return plain


class TestWhole:
    @each
    def test_every_cut_gives_the_same_bytes(self, header: str, pack: Pack) -> None:
        for body in BODIES:
            packed = pack(body)
            assert fed(Decoder(header), *(bytes([byte]) for byte in packed)) == body
            for cut in range(len(packed)):
                assert fed(Decoder(header), packed[:cut], packed[cut:]) == body

    @each
    @pytest.mark.parametrize(
        "body",
        [NOISE, b"\0" * (5 * PIECE), b"\0" * PIECE, NOISE[: 2 * PIECE]],
        ids=["noise", "zeros", "a piece", "two pieces"],
    )
    def test_a_body_of_many_pieces(self, header: str, pack: Pack, body: bytes) -> None:
        packed = pack(body)
        assert decode(packed, header, len(body)) == body
        middle = len(packed) // 2
        assert fed(Decoder(header), packed[:middle], packed[middle:]) == body

    @settings(max_examples=60, deadline=None)
    @given(st.binary(max_size=300), st.sampled_from(list(ALL.values())))
    def test_any_bytes(self, body: bytes, how: tuple[str, Pack]) -> None:
        header, pack = how
        assert decode(pack(body), header, len(body)) == body

    @pytest.mark.parametrize("header", ["", " ", "identity", "Identity, identity"])
    def test_identity_is_the_body_itself(self, header: str) -> None:
        body = b"plain"
        assert decode(body, header, 1) is body
        assert not Decoder(header)
        assert fed(Decoder(header), b"pl", b"ain") == body

    @pytest.mark.parametrize("header", [*("zstd", "gzip", "br", "deflate"), "gzip, br"])
    def test_a_decoder_with_something_to_take_off_is_true(self, header: str) -> None:
        assert Decoder(header)


class TestRefused:
    @pytest.mark.parametrize(
        ("header", "name"), [("lzma", "lzma"), ("gzip, Compress", "compress"), ("zstd;q=1", "zstd;q=1"), ("*", "*")]
    )
    def test_an_encoding_that_nobody_knows_is_named(self, header: str, name: str) -> None:
        with pytest.raises(UnknownEncodingError) as caught:
            decode(b"", header, LIMIT)
        assert str(caught.value) == name

    @each_single
    def test_every_body_that_breaks_off_is_damaged(self, header: str, pack: Pack) -> None:
        packed = pack(BODIES[1])
        for end in range(1, len(packed)):
            with pytest.raises(DamagedError, match="breaks off"):
                decode(packed[:end], header, LIMIT)

    @pytest.mark.parametrize(("header", "pack"), [ALL["gzip members"], ALL["zstd frames"]], ids=["gzip", "zstd"])
    def test_a_last_member_that_breaks_off_is_damaged(self, header: str, pack: Pack) -> None:
        with pytest.raises(DamagedError):
            decode(pack(BODIES[1])[:-1], header, LIMIT)

    @each_single
    def test_what_is_no_such_body_at_all_is_damaged(self, header: str, pack: Pack) -> None:
        with pytest.raises(DamagedError, match=header):
            decode(b'{"model":"m"}' * 9, header, LIMIT)

    @pytest.mark.parametrize("name", ["gzip", "deflate", "gzip in gzip"])
    def test_a_flipped_byte_never_changes_what_a_checksum_guards(self, name: str) -> None:
        header, pack = SINGLE[name]
        packed = bytearray(pack(BODIES[1]))
        read = set()
        for at in range(len(packed)):
            packed[at] ^= 0xFF
            try:
                read.add(decode(bytes(packed), header, LIMIT))
            except DamagedError:
                read.add(BODIES[1])
            packed[at] ^= 0xFF
        assert read == {BODIES[1]}

    @each_single
    def test_what_follows_the_end_is_damage(self, header: str, pack: Pack) -> None:
        with pytest.raises(DamagedError):
            decode(pack(b"x") + b"junk", header, LIMIT)

    @each
    def test_the_limit_is_exact(self, header: str, pack: Pack) -> None:
        body = NOISE[: PIECE + 1]
        assert decode(pack(body), header, len(body)) == body
        with pytest.raises(TooLargeError, match=str(PIECE)):
            decode(pack(body), header, PIECE)


BOMBS: dict[str, tuple[str, Pack]] = {
    **{name: ALL[name] for name in ("zstd", "gzip", "br", "deflate", "raw deflate", "gzip in gzip")},
    "gzip members": ("gzip", lambda data: gzip.compress(data[: 1 << 17]) * (len(data) >> 17)),
}


@pytest.mark.parametrize(("header", "pack"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_stopped_at_the_limit_with_little_memory(header: str, pack: Pack) -> None:
    bomb = pack(b"\0" * (32 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            decode(bomb, header, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 3 * LIMIT
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("header", "pack"), BOMBS.values(), ids=BOMBS)
def test_a_stream_leaves_in_small_pieces(header: str, pack: Pack) -> None:
    pieces = [len(piece) for piece in Decoder(header).feed(pack(b"\0" * LIMIT))]
    assert (sum(pieces), max(pieces) <= 2 * PIECE) == (LIMIT, True)
