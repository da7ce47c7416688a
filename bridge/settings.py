"""Every option of the bridge: its default, its check, its help. The addon registers each as `bridge_<name>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, ValidationError, model_validator

from bridge.jsonvalue import JSON, Object, parse
from bridge.payload import Malformed

PREFIX = "bridge_"


class Backend(StrEnum):
    """Which API the backend speaks."""

    RESPONSES = "responses"
    CHAT = "chat"

    @classmethod
    def of(cls, request: Object) -> Backend:
        """The API that the body of a request belongs to."""
        return cls.CHAT if isinstance(request.get("messages"), list) else cls.RESPONSES


class DeveloperRole(StrEnum):
    """The role of a developer message that is not at the start."""

    USER = "user"
    SYSTEM = "system"
    DEVELOPER = "developer"


class Reasoning(StrEnum):
    """Where a chat backend gets its reasoning back."""

    REASONING_CONTENT = "reasoning_content"
    REASONING = "reasoning"
    THINK = "think"
    DROP = "drop"


class CustomTools(StrEnum):
    """What becomes of custom tools."""

    FUNCTION_BRIDGE = "function_bridge"
    PASSTHROUGH = "passthrough"
    DROP = "drop"


class Verbosity(StrEnum):
    """How much is logged of each exchange."""

    QUIET = "quiet"
    LINE = "line"
    LEDGER = "ledger"
    DIFF = "diff"


class HostedTools(StrEnum):
    """What becomes of tools that only OpenAI's own servers run."""

    DROP = "drop"
    PASSTHROUGH = "passthrough"
    REJECT = "reject"


class Grammar(StrEnum):
    """What becomes of the grammar of a custom tool."""

    DESCRIBE = "describe"
    DROP = "drop"


class Images(StrEnum):
    """What becomes of images."""

    NONE = "none"
    PLACEHOLDER = "placeholder"
    USER = "user"
    INLINE = "inline"


@dataclass(frozen=True)
class StripEntry:
    """A path to remove; with `only`, just where it holds that one value."""

    path: tuple[str, ...]
    only: tuple[JSON, ...] = ()


@dataclass(frozen=True)
class BodyEntry:
    """A value for a path, always or only where there is none."""

    path: tuple[str, ...]
    value: JSON
    always: bool


_KEY = r"[^.=:\s\[\]]+"
_PATH = re.compile(rf"{_KEY}(?:\[\])?(?:\.{_KEY}(?:\[\])?)*")


def _path(text: str) -> tuple[str, ...]:
    """`input[].phase` → `("input", "[]", "phase")`."""
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} is not a path: write keys with dots between, and [] for each entry of a list")
    return tuple(part for part in re.split(r"\.|(?=\[\])", text) if part)


def _value(text: str, entry: str) -> JSON:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"{text!r} in {entry!r} is not JSON (a string needs its double quotes)") from None


def _entries(entries: Sequence[str]) -> list[str]:
    return [entry.strip() for entry in entries if entry.strip()]


def _pairs(entries: Sequence[str], form: str) -> dict[str, str]:
    """Entries of a form such as `tool=name` → a mapping."""
    pairs = {}
    for entry in _entries(entries):
        key, _, value = (part.strip() for part in entry.partition("="))
        if not (key and value):
            raise ValueError(f"{entry!r} is not of the form {form}")
        pairs[key] = value
    return pairs


def _strip(entries: Sequence[str]) -> tuple[StripEntry, ...]:
    """`path` and `path=json` entries."""
    strip = []
    for entry in _entries(entries):
        path, equals, value = entry.partition("=")
        strip.append(StripEntry(_path(path), (_value(value, entry),) if equals else ()))
    return tuple(strip)


def _body(entries: Sequence[str]) -> tuple[BodyEntry, ...]:
    """`path=json` and `path:=json` entries."""
    body = []
    for entry in _entries(entries):
        path, equals, value = entry.partition("=")
        if not equals:
            raise ValueError(f"{entry!r} is not of the form path=json or path:=json")
        body.append(BodyEntry(_path(path.removesuffix(":")), _value(value, entry), path.endswith(":")))
    return tuple(body)


def _unchecked(entries: tuple[str, ...]) -> Any:
    """A default as a user would write it, which the field's own check turns into its value."""
    return entries


_FILTER = '~m POST & ~u "^[^?]*/responses(/compact)?([?]|$)"'
_STRIP = (
    "client_metadata",
    "prompt_cache_key",
    "include",
    "reasoning.context",
    "text.verbosity",
    "service_tier=null",
    "input[].phase",
    "input[].internal_chat_message_metadata_passthrough",
    "tools[].defer_loading",
    "tools[].function.defer_loading",
)


_CHAT_ONLY = ("developer_role", "reasoning", "think_tags", "effort")


class Settings(BaseModel):
    """The options of one exchange. Field names are the option names without `bridge_`."""

    model_config = ConfigDict(frozen=True, validate_default=True, extra="forbid")

    filter: str = Field(
        default=_FILTER,
        description="The flows that are bridged, as a mitmproxy flow filter; everything else passes as it is.",
    )
    backend: Backend = Field(
        default=Backend.RESPONSES,
        description="The API that the backend speaks: the Responses API, or Chat Completions at the sibling path "
        "…/chat/completions.",
    )
    max_body: ByteSize = Field(
        default=ByteSize(64 << 20),
        description="A compressed request that unpacks to more than this is refused with 413 (64MiB, 500kB, …).",
    )
    custom_tools: CustomTools = Field(
        default=CustomTools.FUNCTION_BRIDGE,
        description="Custom tools: lower them to functions (function_bridge), send them as they are (passthrough), "
        "or remove them (drop).",
    )
    parameters: Annotated[Mapping[str, str], BeforeValidator(partial(_pairs, form="tool=name"))] = Field(
        default=_unchecked(()),
        description="tool=name: the name of the one string parameter that a custom tool is lowered to "
        "(default: input). Repeat the option for more tools.",
    )
    grammar: Grammar = Field(
        default=Grammar.DESCRIBE,
        description="The grammar of a custom tool, which a function call cannot enforce: into the description of the "
        "parameter (describe), or left out (drop).",
    )
    malformed: Malformed = Field(
        default=Malformed.SALVAGE,
        description="Arguments in which the parameter never came as a string: take the one reading they have "
        "(salvage), or deliver their text (raw).",
    )
    hosted_tools: HostedTools = Field(
        default=HostedTools.DROP,
        description="Hosted tools such as web_search: leave them out (drop), send them as they are (passthrough), or "
        "refuse the request with 400 (reject).",
    )
    images: Images = Field(
        default=Images.PLACEHOLDER,
        description="Images: a text in place of every image (none) or of those in tool outputs (placeholder), a user "
        "message behind the outputs (user), or left where they are (inline).",
    )
    strip: Annotated[tuple[StripEntry, ...], BeforeValidator(_strip)] = Field(
        default=_unchecked(_STRIP),
        description="Paths removed from what is sent: path, list[].path, or path=json for that value only. Setting it "
        "replaces the whole list.",
    )
    body: Annotated[tuple[BodyEntry, ...], BeforeValidator(_body)] = Field(
        default=_unchecked(()),
        description="Fields added to what is sent: path=json where there is none, path:=json always (a string in "
        "double quotes). Repeat the option for more fields.",
    )
    model: str = Field(default="", description="The model name to send in place of the client's.")
    developer_role: DeveloperRole = Field(
        default=DeveloperRole.USER,
        description="Chat: the role of developer messages behind the first other message; common templates admit one "
        "system message, at the start.",
    )
    reasoning: Reasoning = Field(
        default=Reasoning.REASONING_CONTENT,
        description="Chat: where earlier reasoning goes back: a field of the assistant message (reasoning_content, "
        "reasoning), <think> tags in its text (think), or nowhere (drop).",
    )
    think_tags: bool = Field(
        default=False,
        description="Chat: take <think>…</think> in the answer's text for reasoning.",
    )
    effort: Annotated[Mapping[str, str], BeforeValidator(partial(_pairs, form="from=to"))] = Field(
        default=_unchecked(()),
        description="Chat: from=to, another reasoning effort for one that the backend refuses (xhigh=high). Repeat the "
        "option for more.",
    )
    keepalive: int = Field(
        default=15,
        ge=0,
        description="Seconds of silence after which a waiting client gets an event that resets its idle timer; 0 never "
        "sends one.",
    )
    stream: bool = Field(
        default=True,
        description="Pass answers on as they arrive; false holds each until it is whole, to intercept and edit it.",
    )
    replay: str = Field(
        default="",
        description="A recording to take the backend's answers from: no backend is asked.",
    )
    check: bool = Field(
        default=False,
        description="With -nr: lower and lift each flow of the recording again, and say what differs from it.",
    )
    fixture: str = Field(
        default="",
        description="With -nr: write the recording's bridged turns, scrubbed, to this file, and what is expected of "
        "them beside it.",
    )
    fixture_payloads: bool = Field(
        default=False,
        description="Leave what calls and outputs hold in a fixture, but for what looks personal in it.",
    )
    fixture_prose: bool = Field(
        default=False,
        description="Leave instructions, descriptions, grammars and messages in a fixture, but for what looks personal "
        "in them.",
    )
    verbosity: Verbosity = Field(
        default=Verbosity.LINE,
        description="What is logged of each exchange: warnings only (quiet), one line (line), every rule that fired "
        "(ledger), or also all that differs between client and backend (diff).",
    )
    keep_bodies: ByteSize = Field(
        default=ByteSize(16 << 20),
        description="How much of each body a flow keeps beside what mitmproxy keeps of it anyway, for views, "
        "recordings and replay (16MiB, …); 0 keeps none.",
    )

    @model_validator(mode="after")
    def _together(self) -> Settings:
        """Refuse settings that cannot work together."""
        fields = type(self).model_fields
        changed = [name for name in _CHAT_ONLY if getattr(self, name) not in (fields[name].default, {})]
        if changed and self.backend is Backend.RESPONSES:
            raise ValueError(f"{PREFIX}{changed[0]} needs {PREFIX}backend=chat: a Responses backend has no use for it")
        if self.replay and self.check:
            raise ValueError(f"{PREFIX}replay and {PREFIX}check cannot go together: one answers, the other compares")
        if not self.stream and self.keepalive not in (0, fields["keepalive"].default):
            raise ValueError(
                f"{PREFIX}keepalive needs {PREFIX}stream=true: an answer that is held has no stream to keep"
            )
        return self

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """Option values without their prefix → settings; `ValueError` names the option and what it takes."""
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = f"{PREFIX}{first['loc'][0]}: " if first["loc"] else ""
            raise ValueError(name + first["msg"].removeprefix("Value error, ")) from None

    @classmethod
    def spec(cls) -> list[tuple[str, type, Any, str, list[str] | None]]:
        """(name, type, default, help, choices) of each option, in the terms of mitmproxy's `add_option`.

        Every single value is a string there: of a number or boolean that mitmproxy cannot read, it tells nobody, and
        goes on without the addon (12.3.1).
        """
        return [_option(name, field.default, field.description or "") for name, field in cls.model_fields.items()]


def _option(name: str, default: Any, text: str) -> tuple[str, type, Any, str, list[str] | None]:
    if isinstance(default, bool):
        return name, str, str(default).lower(), text, ["true", "false"]
    if type(default) is int:
        return name, str, str(default), text, None
    if isinstance(default, StrEnum):
        return name, str, str(default), text, [str(choice) for choice in type(default)]
    if isinstance(default, ByteSize):
        return name, str, default.human_readable().replace(".0", ""), text, None
    if isinstance(default, tuple):
        return name, Sequence[str], list(default), text, None
    return name, str, default, text, None
