"""What the way back needs to know of its request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from bridge.jsonvalue import Object
from bridge.ledger import Ledger
from bridge.names import NameTable
from bridge.settings import Settings


@dataclass(frozen=True)
class Context:
    """One exchange, seen from its response.

    `client` is the request as the client sent it; `seed` makes minted ids unique to this exchange; `now` is its time
    in seconds since the epoch.
    """

    names: NameTable
    settings: Settings
    ledger: Ledger
    client: Object
    seed: str
    now: int

    def mint(self, prefix: str, *of: object) -> str:
        """An id that is the same whenever it is asked for in this exchange, and nowhere else."""
        text = "\0".join([self.seed, prefix, *(str(part) for part in of)])
        return prefix + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def quiet(self) -> Context:
        """The same with a ledger of its own, for what was already noted."""
        return replace(self, ledger=Ledger())
