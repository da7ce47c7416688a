"""The options: what each takes, what it becomes, and an error that names the option and the entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import pytest
from mitmproxy.optmanager import OptManager
from pydantic import ValidationError

from bridge.payload import Malformed
from bridge.settings import (
    PREFIX,
    Backend,
    BodyEntry,
    CustomTools,
    DeveloperRole,
    Grammar,
    HostedTools,
    Images,
    Reasoning,
    Settings,
    StripEntry,
)

CHOICES: dict[str, type[StrEnum]] = {
    "backend": Backend,
    "custom_tools": CustomTools,
    "grammar": Grammar,
    "malformed": Malformed,
    "hosted_tools": HostedTools,
    "images": Images,
    "developer_role": DeveloperRole,
    "reasoning": Reasoning,
}


class TestDefaults:
    def test_the_defaults_are_the_documented_ones(self) -> None:
        chosen = Settings().model_dump(exclude={"filter", "strip"})
        assert chosen == {
            "backend": "responses",
            "developer_role": "user",
            "reasoning": "reasoning_content",
            "think_tags": False,
            "effort": {},
            "keepalive": 15,
            "replay": "",
            "check": False,
            "max_body": 64 * 1024 * 1024,
            "custom_tools": "function_bridge",
            "parameters": {},
            "grammar": "describe",
            "malformed": "salvage",
            "hosted_tools": "drop",
            "images": "placeholder",
            "body": (),
            "model": "",
            "stream": True,
            "fixture": "",
            "fixture_payloads": False,
            "fixture_prose": False,
            "verbosity": "line",
            "keep_bodies": 16 * 1024 * 1024,
        }

    def test_the_default_strip_list_holds_the_codex_only_fields(self) -> None:
        assert set(Settings().strip) == {
            StripEntry(("client_metadata",)),
            StripEntry(("prompt_cache_key",)),
            StripEntry(("include",)),
            StripEntry(("reasoning", "context")),
            StripEntry(("text", "verbosity")),
            StripEntry(("service_tier",), (None,)),
            StripEntry(("input", "[]", "phase")),
            StripEntry(("input", "[]", "internal_chat_message_metadata_passthrough")),
            StripEntry(("tools", "[]", "defer_loading")),
            StripEntry(("tools", "[]", "function", "defer_loading")),
            StripEntry(("tools", "[]", "function", "defer_loading")),
        }

    def test_settings_are_frozen(self) -> None:
        with pytest.raises(ValidationError):
            Settings().model = "other"  # type: ignore[misc]


class TestSpec:
    def test_the_defaults_that_mitmproxy_hands_back_are_the_defaults(self) -> None:
        assert Settings.from_options({name: default for name, _, default, _, _ in Settings.spec()}) == Settings()

    def test_mitmproxy_takes_every_option(self) -> None:
        options = OptManager()
        for name, kind, default, text, choices in Settings.spec():
            options.add_option(PREFIX + name, kind, default, text, choices)
        assert {name.removeprefix(PREFIX) for name in options.keys()} == set(Settings.model_fields)  # noqa: SIM118

    def test_every_option_has_help(self) -> None:
        assert [name for name, _, _, text, _ in Settings.spec() if not text] == []

    @pytest.mark.parametrize(
        ("name", "kind", "default", "choices"),
        [
            ("max_body", str, "64MiB", None),
            ("fixture", str, "", None),
            ("fixture_payloads", str, "false", ["true", "false"]),
            ("fixture_prose", str, "false", ["true", "false"]),
            ("verbosity", str, "line", ["quiet", "line", "ledger", "diff"]),
            ("keep_bodies", str, "16MiB", None),
            ("stream", str, "true", ["true", "false"]),
            ("keepalive", str, "15", None),
            ("model", str, "", None),
            ("parameters", Sequence[str], [], None),
            ("images", str, "placeholder", ["none", "placeholder", "user", "inline"]),
            ("malformed", str, "salvage", ["salvage", "raw"]),
        ],
    )
    def test_an_option_in_the_terms_of_mitmproxy(
        self, name: str, kind: type, default: Any, choices: list[str] | None
    ) -> None:
        (found,) = [(each[1], each[2], each[4]) for each in Settings.spec() if each[0] == name]
        assert found == (kind, default, choices)


class TestTaken:
    @pytest.mark.parametrize(("name", "kind"), CHOICES.items(), ids=CHOICES)
    def test_every_choice(self, name: str, kind: type[StrEnum]) -> None:
        assert [
            getattr(Settings.from_options({"backend": "chat", name: str(choice)}), name) for choice in kind
        ] == list(kind)

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"max_body": "500kB"}, {"max_body": 500_000}),
            ({"max_body": "1MiB"}, {"max_body": 1 << 20}),
            ({"max_body": "7"}, {"max_body": 7}),
            ({"keep_bodies": "0"}, {"keep_bodies": 0}),
            ({"keepalive": 0, "stream": False}, {"keepalive": 0, "stream": False}),
            ({"keepalive": 15, "stream": False}, {"stream": False}),
            ({"keepalive": 3}, {"keepalive": 3}),
            ({"backend": "chat", "effort": ["xhigh=high"]}, {"backend": Backend.CHAT, "effort": {"xhigh": "high"}}),
            ({"effort": [], "think_tags": False, "developer_role": "user", "reasoning": "reasoning_content"}, {}),
            ({"stream": False}, {"stream": False}),
            ({"model": "m/1"}, {"model": "m/1"}),
            ({"parameters": []}, {"parameters": {}}),
            (
                {"parameters": [" exec=script ", "", "apply_patch=patch"]},
                {"parameters": {"exec": "script", "apply_patch": "patch"}},
            ),
        ],
    )
    def test_a_value(self, options: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        assert Settings.from_options(options) == Settings().model_copy(update=expected)

    @pytest.mark.parametrize(
        ("entry", "taken"),
        [
            ("include", StripEntry(("include",))),
            (" a.b.c ", StripEntry(("a", "b", "c"))),
            ("input[].phase", StripEntry(("input", "[]", "phase"))),
            ("a[].b[].c[]", StripEntry(("a", "[]", "b", "[]", "c", "[]"))),
            ("x-y_z", StripEntry(("x-y_z",))),
            ("tier=null", StripEntry(("tier",), (None,))),
            ('tier="a=b"', StripEntry(("tier",), ("a=b",))),
            ("n=0", StripEntry(("n",), (0,))),
        ],
    )
    def test_an_entry_of_strip(self, entry: str, taken: StripEntry) -> None:
        assert Settings.from_options({"strip": [entry, " "]}).strip == (taken,)

    @pytest.mark.parametrize(
        ("entry", "taken"),
        [
            ("max_output_tokens=4096", BodyEntry(("max_output_tokens",), 4096, always=False)),
            ("max_output_tokens:=4096", BodyEntry(("max_output_tokens",), 4096, always=True)),
            ("a.b:=null", BodyEntry(("a", "b"), None, always=True)),
            ('a="x:=y"', BodyEntry(("a",), "x:=y", always=False)),
            (' provider={"order": ["=", ":="]} ', BodyEntry(("provider",), {"order": ["=", ":="]}, always=False)),
            ("thinking= true", BodyEntry(("thinking",), True, always=False)),
        ],
    )
    def test_an_entry_of_body(self, entry: str, taken: BodyEntry) -> None:
        assert Settings.from_options({"body": ["", entry]}).body == (taken,)

    def test_entries_keep_their_order(self) -> None:
        assert [each.value for each in Settings.from_options({"body": ["a=2", "a=1"]}).body] == [2, 1]


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            *(({name: "nonsense"}, [PREFIX + name, *map(str, kind)]) for name, kind in CHOICES.items()),
            ({"max_body": "much"}, ["bridge_max_body"]),
            ({"max_body": "-1"}, ["bridge_max_body"]),
            ({"keep_bodies": ""}, ["bridge_keep_bodies"]),
            ({"stream": "perhaps"}, ["bridge_stream"]),
            ({"streem": True}, ["bridge_streem"]),
            ({"keepalive": -1}, ["bridge_keepalive"]),
            ({"keepalive": 5, "stream": False}, ["bridge_keepalive", "bridge_stream=true"]),
            ({"developer_role": "system"}, ["bridge_developer_role", "bridge_backend=chat"]),
            ({"reasoning": "drop"}, ["bridge_reasoning", "bridge_backend=chat"]),
            ({"think_tags": True}, ["bridge_think_tags", "bridge_backend=chat"]),
            ({"effort": ["a=b"]}, ["bridge_effort", "bridge_backend=chat"]),
            ({"parameters": ["a=b", "exec"]}, ["bridge_parameters", "'exec'", "tool=name"]),
            ({"parameters": ["=x"]}, ["bridge_parameters", "'=x'"]),
            ({"parameters": ["exec="]}, ["bridge_parameters", "'exec='"]),
            ({"strip": ["a..b"]}, ["bridge_strip", "'a..b'", "path"]),
            ({"strip": ["a b"]}, ["bridge_strip", "'a b'"]),
            ({"strip": [".a"]}, ["bridge_strip", "'.a'"]),
            ({"strip": ["[].a"]}, ["bridge_strip", "'[].a'"]),
            ({"strip": ["a[0]"]}, ["bridge_strip", "'a[0]'"]),
            ({"strip": ["a[][]"]}, ["bridge_strip", "'a[][]'"]),
            ({"strip": ["a="]}, ["bridge_strip", "'a='", "JSON"]),
            ({"strip": ["a:=1"]}, ["bridge_strip", "'a:'"]),
            ({"body": ["a"]}, ["bridge_body", "'a'", "path=json"]),
            ({"body": ["=1"]}, ["bridge_body", "path"]),
            ({"body": [":=1"]}, ["bridge_body", "path"]),
            ({"body": ["a=b"]}, ["bridge_body", "'a=b'", "double quotes"]),
            ({"body": ["a:="]}, ["bridge_body", "'a:='"]),
            ({"body": ["a==1"]}, ["bridge_body", "'a==1'"]),
            ({"body": ["a=NaN"]}, ["bridge_body", "'a=NaN'"]),
        ],
        ids=str,
    )
    def test_the_error_names_the_option_and_what_is_wrong(self, options: Mapping[str, Any], words: list[str]) -> None:
        with pytest.raises(ValueError, match=r"^bridge_") as caught:
            Settings.from_options(options)
        assert [word for word in words if word not in str(caught.value)] == []

    def test_the_error_is_one_line_in_plain_words(self) -> None:
        with pytest.raises(ValueError, match=r"^bridge_parameters: 'exec' is not of the form tool=name$"):
            Settings.from_options({"parameters": ["exec"]})
