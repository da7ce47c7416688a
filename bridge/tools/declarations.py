"""Which tools a request declares, wherever it does: hoist the carriers, open the namespaces, settle who wins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bridge.errors import ClientError
from bridge.jsonvalue import JSON, Object, as_objects, as_text, dump
from bridge.ledger import Ledger, Rule
from bridge.names import Kind, key

CARRIERS = ("additional_tools", "tool_search_output")


@dataclass(frozen=True)
class Declaration:
    """One tool as the client declared it.

    `kind` is None for a hosted tool, `namespace` empty for the default one, `nested` true inside any namespace.
    """

    kind: Kind | None
    namespace: str
    name: str
    tool: Object
    path: str
    nested: bool


@dataclass(frozen=True)
class Declared:
    """All that a request declares: the tools in their order, and what it says of each namespace."""

    tools: tuple[Declaration, ...]
    namespaces: dict[str, str]

    def callable(self) -> list[tuple[Kind, str, str]]:
        """(kind, namespace, name) of each tool that the client runs itself."""
        return [(tool.kind, tool.namespace, tool.name) for tool in self.tools if tool.kind]


def hoist(body: Object, ledger: Ledger) -> Declared:
    """Top-level `tools`, then each carrier in turn → the tools; the last definition wins and keeps its first place."""
    merged: dict[tuple[str, ...], Declaration] = {}
    namespaces: dict[str, str] = {}
    for path, tools in _lists(body):
        opened = list(_open(tools, path, namespaces))
        _refuse_clashes(opened)
        if path != "tools" and opened:
            ledger.add(Rule.HOISTED, path=path, count=len(opened))
        for declaration in opened:
            if declaration.nested:
                ledger.add(Rule.FLATTENED, path=declaration.path)
        merged |= {_identity(tool): tool for tool in opened}
    return Declared(tuple(merged.values()), namespaces)


def kind_of(tool: Object) -> Kind | None:
    """What a declaration declares; None for a hosted tool.

    Codex runs `tool_search` itself; only one that says `execution: server` is hosted.
    """
    match tool.get("type"):
        case "function":
            return Kind.FUNCTION
        case "custom":
            return Kind.CUSTOM
        case "tool_search" if tool.get("execution") in (None, "client"):
            return Kind.TOOL_SEARCH
        case _:
            return None


def _lists(body: Object) -> Iterable[tuple[str, JSON]]:
    yield "tools", body.get("tools")
    for index, item in enumerate(as_objects(body.get("input"))):
        if item.get("type") in CARRIERS:
            yield f"input[{index}].tools", item.get("tools")


def _open(tools: JSON, path: str, namespaces: dict[str, str], namespace: str | None = None) -> Iterable[Declaration]:
    for index, tool in enumerate(as_objects(tools)):
        here = f"{path}[{index}]"
        if tool.get("type") == "namespace" and namespace is not None:
            message = f"{here}: a namespace inside a namespace has no name that Codex knows. Declare it at the top."
            raise ClientError(message, here)
        if tool.get("type") == "namespace":
            inner, _ = key(as_text(tool.get("name")), "")
            namespaces[inner] = as_text(tool.get("description")) or namespaces.get(inner, "")
            yield from _open(tool.get("tools"), f"{here}.tools", namespaces, inner)
            continue
        kind = kind_of(tool)
        name = "tool_search" if kind is Kind.TOOL_SEARCH else as_text(tool.get("name"))
        yield Declaration(kind, namespace or "", name, tool, here, nested=namespace is not None)


def _identity(declaration: Declaration) -> tuple[str, ...]:
    """What makes two declarations one tool; a hosted tool is only its own equal."""
    if declaration.kind is None:
        return ("hosted", dump(declaration.tool))
    return ("callable", declaration.namespace, declaration.name)


def _refuse_clashes(declarations: list[Declaration]) -> None:
    seen: dict[tuple[str, ...], Declaration] = {}
    for declaration in declarations:
        first = seen.setdefault(_identity(declaration), declaration)
        if first.kind is not declaration.kind:
            raise ClientError(
                f"{declaration.path}: {declaration.name!r} is a {declaration.kind} tool here and a {first.kind} tool "
                f"at {first.path}. Declare it once, or in another namespace.",
                f"{declaration.path}.name",
            )
