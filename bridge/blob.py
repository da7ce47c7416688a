"""The bridge's own `encrypted_content`: text that must survive to a later request, in what the client replays.

It is not a secret and not encrypted: the client keeps the field as it is, and that is what it is for.
"""

from __future__ import annotations

import base64
import re
import zlib

LONGEST = 16 << 20
"""Bytes of text that a blob unpacks to at most."""
_PREFIX = "bridge.v1."
_CIPHERTEXT = re.compile(r"gAAAA[A-Za-z0-9+/_=-]*|[A-Za-z0-9+/_=-]{64,}")


def seal(text: str) -> str:
    """Text → blob."""
    return _PREFIX + base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode("ascii")


def unseal(blob: str) -> str | None:
    """Blob → text; None for one that is not ours."""
    if not blob.startswith(_PREFIX):
        return None
    try:
        packed = base64.urlsafe_b64decode(blob.removeprefix(_PREFIX))
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, LONGEST)
        return text.decode("utf-8", "surrogatepass") if unpacker.eof else None
    except (ValueError, zlib.error):
        return None


def is_ciphertext(text: str) -> bool:
    """Whether text is no text: one long word of base64, or what begins like a Fernet token."""
    return _CIPHERTEXT.fullmatch(text) is not None
