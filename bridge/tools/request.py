"""A client's request → the function-only request for the backend: the order of the rules."""

from __future__ import annotations

from dataclasses import dataclass

from bridge import shapes
from bridge.fields import settle
from bridge.jsonvalue import Object
from bridge.ledger import Ledger
from bridge.names import NameTable
from bridge.settings import Backend, Settings
from bridge.tools import compaction
from bridge.tools.choice import lower_choice
from bridge.tools.declarations import hoist
from bridge.tools.definitions import lower_tools
from bridge.tools.history import lower_history


@dataclass(frozen=True)
class Lowered:
    """What goes to a Responses backend, or into the chat dialect, and what the way back needs."""

    body: Object
    names: NameTable
    compacts: bool


def lower(body: Object, settings: Settings, ledger: Ledger, *, compact: bool = False) -> Lowered:
    """`body` is left as it is. `compact`: the request came to `/responses/compact`. Raises `ClientError`."""
    shapes.check(body)
    compacts = compact or compaction.is_asked(body)
    declared = hoist(body, ledger)
    names = NameTable(declared.callable())
    lowered = lower_choice(body, lower_tools(declared, names, settings, ledger), names, ledger)
    if "input" in body:
        lowered = {**lowered, "input": lower_history(body, names, settings, ledger)}
    if compacts:
        lowered = compaction.ask(lowered, ledger)
    if settings.backend is Backend.RESPONSES:
        lowered = settle(lowered, settings, ledger)
    return Lowered(lowered, names, compacts)
