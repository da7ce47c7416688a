"""Content encodings, taken off piece by piece, so that no compressed body unpacks without bound."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:  # pragma: no cover
    from backports import zstd

PIECE = 1 << 16
"""Bytes that one step unpacks at most."""


class UnknownEncodingError(Exception):
    """An encoding that nobody here can take off."""


class DamagedError(Exception):
    """Data that is not what its encoding says."""


class TooLargeError(Exception):
    """Data that unpacks beyond the limit."""


class _Codec(Protocol):
    finished: bool

    def unpack(self, data: bytes) -> Iterator[bytes]: ...


class _Zlib:
    """gzip, zlib and raw deflate; several gzip members in a row are one body."""

    def __init__(self) -> None:
        self.finished = True
        self._inner: zlib._Decompress | None = None

    def unpack(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner is None or self._inner.eof:
                self._inner = zlib.decompressobj(_window_bits(data))
            piece = self._inner.decompress(data, PIECE)
            data = self._inner.unconsumed_tail or self._inner.unused_data
            yield piece
            while len(piece) == PIECE and not data and not self._inner.eof:
                piece = self._inner.decompress(b"", PIECE)
                yield piece
            self.finished = self._inner.eof


class _Brotli:
    def __init__(self) -> None:
        self.finished = True
        self._inner = brotli.Decompressor()

    def unpack(self, data: bytes) -> Iterator[bytes]:
        piece = self._inner.process(data, output_buffer_limit=PIECE)
        while piece:
            yield piece
            # Brotli 1.2.1 says that it accepts more data while output is still pending: an empty piece is the end.
            piece = b"" if self._inner.is_finished() else self._inner.process(b"", output_buffer_limit=PIECE)
        self.finished = self._inner.is_finished()


class _Zstd:
    """Several frames in a row are one body."""

    def __init__(self) -> None:
        self.finished = True
        self._inner = zstd.ZstdDecompressor()

    def unpack(self, data: bytes) -> Iterator[bytes]:
        while data or not self._inner.needs_input:
            if self._inner.eof:
                self._inner = zstd.ZstdDecompressor()
            yield self._inner.decompress(data, PIECE)
            data = self._inner.unused_data if self._inner.eof else b""
            if self._inner.eof and not data:
                break
        self.finished = self._inner.eof


_CODECS: dict[str, type[_Zlib | _Brotli | _Zstd]] = {
    "gzip": _Zlib,
    "x-gzip": _Zlib,
    "deflate": _Zlib,
    "br": _Brotli,
    "zstd": _Zstd,
}


class Decoder:
    """Takes off what a `content-encoding` header names, the last encoding first."""

    def __init__(self, header: str) -> None:
        """`header` may be empty or `identity`; raises `UnknownEncodingError`."""
        names = [name for name in (part.strip().lower() for part in header.split(",")) if name not in ("", "identity")]
        for name in names:
            if name not in _CODECS:
                raise UnknownEncodingError(name)
        self._header = header
        self._codecs: list[_Codec] = [_CODECS[name]() for name in reversed(names)]

    def __bool__(self) -> bool:
        """Whether there is anything to take off."""
        return bool(self._codecs)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Encoded bytes → pieces of plain bytes; raises `DamagedError`."""
        if not self._codecs:
            yield data
            return
        try:
            # In slices: the codecs copy what they have not read yet at every step.
            for start in range(0, len(data), PIECE):
                yield from self._unpack(data[start : start + PIECE], self._codecs)
        except (zlib.error, brotli.error, zstd.ZstdError) as error:
            raise DamagedError(f"the body is not valid {self._header}: {error}") from error

    def close(self) -> None:
        """The data ended; raises `DamagedError` if it broke off."""
        if not all(codec.finished for codec in self._codecs):
            raise DamagedError(f"the {self._header} body breaks off")

    def _unpack(self, data: bytes, codecs: list[_Codec]) -> Iterator[bytes]:
        for piece in codecs[0].unpack(data):
            if piece:
                yield from self._unpack(piece, codecs[1:]) if codecs[1:] else (piece,)


def decode(data: bytes, header: str, limit: int) -> bytes:
    """A whole encoded body → plain bytes; raises `TooLargeError` as soon as it passes `limit` bytes, and the others."""
    decoder = Decoder(header)
    if not decoder:
        return data
    plain = bytearray()
    for piece in decoder.feed(data):
        plain += piece
        if len(plain) > limit:
            raise TooLargeError(f"the body unpacks to more than {limit} bytes")
    decoder.close()
    return bytes(plain)


def _window_bits(data: bytes) -> int:
    """32 + 15 finds gzip and zlib headers by itself; a raw deflate body has neither (both are sent as `deflate`)."""
    return 47 if data[0] in (0x1F, 0x78) or data[0] & 0x0F == 8 else -15
