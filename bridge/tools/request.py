"""A client's request → the function-only request for the backend: the order of the rules."""

from __future__ import annotations

from dataclasses import dataclass

from bridge import shapes
from bridge.jsonvalue import Object, as_text
from bridge.ledger import Ledger, Rule
from bridge.names import NameTable
from bridge.settings import Settings
from bridge.tools import compaction
from bridge.tools.choice import lower_choice
from bridge.tools.declarations import hoist
from bridge.tools.definitions import lower_tools
from bridge.tools.fields import assign, strip
from bridge.tools.history import lower_history


@dataclass(frozen=True)
class Lowered:
    """What goes to the backend, and what the way back needs."""

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
    lowered = _rename(strip(lowered, settings.strip, ledger), settings.model, ledger)
    return Lowered(assign(lowered, settings.body, ledger), names, compacts)


def _rename(body: Object, model: str, ledger: Ledger) -> Object:
    if not model or as_text(body.get("model")) == model:
        return body
    ledger.add(Rule.SET, "model", "model")
    return {**body, "model": model}
