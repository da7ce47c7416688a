"""The tools that a request declares, and what each is called at the backend."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.errors import ClientError
from bridge.jsonvalue import Object, as_object, as_objects, as_text, read_object
from bridge.ledger import Ledger
from bridge.names import NameTable
from bridge.settings import Backend
from bridge.tools.declarations import Declaration, hoist
from bridge.views.bodies import Bodies
from bridge.views.text import number

_HEAD = ("kind", "namespace", "name", "at the backend", "declared at", "grammar")


def tool_lines(bodies: Bodies) -> Iterator[str]:
    """A table, one tool a line."""
    if bodies.asked is None or Backend.of(read_object(bodies.asked)) is Backend.CHAT:
        yield from _sent_lines(read_object(bodies.sent), bodies.wire)
        return
    try:
        declared = hoist(read_object(bodies.asked), Ledger()).tools
    except ClientError as error:
        yield f"! {error.message}"
        return
    if not declared:
        yield "No tools are declared."
        return
    names = bodies.names if bodies.bridged else None
    yield from _table([_HEAD, *(_row(tool, names) for tool in declared)])


def _row(tool: Declaration, names: NameTable | None) -> tuple[str, ...]:
    kind = str(tool.kind) if tool.kind else f"hosted {as_text(tool.tool.get('type'))}"
    found = names.find(tool.namespace, tool.name) if names and tool.kind else None
    grammar = as_object(tool.tool.get("format"))
    size = f"{as_text(grammar.get('syntax'))} {number(len(as_text(grammar.get('definition'))))} characters"
    namespace = tool.namespace or ("functions" if tool.nested else "-")
    flat = found.flat if found else "not declared there" if names else "-"
    return kind, namespace, tool.name or "-", flat, tool.path, size if grammar.get("definition") else ""


def _sent_lines(sent: Object, wire: Backend) -> Iterator[str]:
    """What the backend was offered, where the client's request is not there."""
    tools = as_objects(sent.get("tools"))
    for index, tool in enumerate(tools):
        inside = as_object(tool.get("function")) if wire is Backend.CHAT else tool
        yield f"{as_text(tool.get('type')) or '-'}  {as_text(inside.get('name')) or '-'}  tools[{index}]"
    if not tools:
        yield "No tools are declared."


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
