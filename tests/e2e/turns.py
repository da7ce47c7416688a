"""What the scripted model says in a turn, and what it was asked: the same values on either wire."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

FEW_TOKENS = 25
MANY_TOKENS = 300_000
"""More than any limit of a compaction that a test sets."""


@dataclass(frozen=True)
class Call:
    """A call by the name that the backend knows, its arguments as the model writes them."""

    name: str
    arguments: str


def custom(name: str, payload: str) -> Call:
    """A call of what is a custom tool for Codex."""
    return Call(name, json.dumps({"input": payload}))


def script(source: str) -> Call:
    """A script for code mode."""
    return custom("exec", source)


def function(name: str, **arguments: Any) -> Call:
    """A call of what is a function for Codex too."""
    return Call(name, json.dumps(arguments))


def shell(command: str, **arguments: Any) -> Call:
    """A shell command, outside code mode."""
    return function("exec_command", cmd=command, **arguments)


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    calls: tuple[Call, ...] = ()
    message: str = ""
    reasoning: str = ""
    tokens: int = FEW_TOKENS


def calls(*made: Call, message: str = "", reasoning: str = "", tokens: int = FEW_TOKENS) -> Turn:
    """A turn that calls."""
    return Turn(made, message, reasoning, tokens)


def says(message: str, reasoning: str = "") -> Turn:
    """A turn that only talks."""
    return Turn((), message, reasoning)


@dataclass(frozen=True)
class Heard:
    """A request as a backend understands it, whatever the wire."""

    calls: tuple[Call, ...]
    outputs: tuple[str, ...]
    tools: tuple[str, ...]
    text: str
    """The conversation as JSON."""
    body: Any = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    """As they arrived, their names in lower case."""
    at: float
    """When it came, in seconds."""
