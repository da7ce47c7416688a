"""The commands by their names, as a person gives them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.http import HTTPFlow
from mitmproxy.test.tflow import tflow

from bridge import flows
from bridge.settings import Settings
from bridge.views.bodies import bodies_of
from bridge.views.export import export
from tests.support.backend import backend, stream
from tests.support.proxy import proxy
from tests.support.recordings import FOLDER, bodies, load, recorded
from tests.test_playback import NOWHERE

CODE_MODE = FOLDER / "codex-0.171.0-code-mode.mitm"
ASK: Any = {"model": "m", "stream": True, "tools": [{"type": "custom", "name": "exec"}], "input": "hi"}


def said(name: str, *recorded_flows: Any, settings: tuple[str, ...] = ()) -> list[str]:
    """What a command answers."""
    with proxy(NOWHERE, *settings) as between:
        answer = between.call(name, list(recorded_flows))
        assert isinstance(answer, list)
        return answer


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bridge.explain", "request   lowered      1 × exec                    at tools[0]"),
        ("bridge.tools", "custom  -          exec  exec            tools[0]"),
        ("bridge.diff", '~ tools[0].type: "custom" → "function"'),
        ("bridge.check", "1: request equal, response equal"),
    ],
)
def test_what_commands_say_of_a_flow(name: str, line: str) -> None:
    answer = b'{"object":"response","status":"completed","output":[]}'
    assert line in said(name, recorded(ASK, answer, kind="application/json"))


def test_several_flows_are_numbered_and_others_left_out() -> None:
    lines = said("bridge.tools", *load(CODE_MODE)[:2], tflow(ws=True))
    assert [line for line in lines if line.startswith("# Flow")] == ["# Flow 1", "# Flow 2", "# Flow 3"]
    assert said("bridge.explain") == ["# No HTTP flow is chosen."]


@pytest.mark.parametrize("name", ["explain", "tools", "diff", "check", "export", "fixture"])
def test_each_command_has_help_and_takes_flows(name: str) -> None:
    with proxy(NOWHERE) as between:
        command = between.command(f"bridge.{name}")
    assert command.help
    assert command.parameters[0].type.__name__ == "Sequence"


class TestDryRun:
    def test_it_shows_what_would_be_sent_and_what_that_changes(self) -> None:
        flow = recorded(ASK, b'{"object":"response","status":"completed","output":[]}', kind="application/json")
        lines = said("bridge.check", flow, settings=("bridge_model=other", "bridge_grammar=drop"))
        assert lines[0] == "1: request differs at model, response equal"
        assert '~ model: "m" → "other"' in lines
        assert [line for line in lines if line.startswith("# - what was sent   + what would be sent: ")]
        assert lines[lines.index("# What would be sent") + 1] == 'model: "other"'

    def test_of_a_flow_that_was_never_bridged(self) -> None:
        flow = tflow()
        flow.request.content = b'{"tools":[{"type":"custom","name":"exec"}],"input":"hi"}'
        lines = said("bridge.check", flow)
        assert lines[0] == "1: not bridged; its request can be lowered (lowered); no answer was kept"
        assert [line for line in lines if line.startswith("# - what stands on the flow   + what would be sent: ")]

    def test_of_one_that_cannot_be_lowered(self) -> None:
        flow = recorded(ASK, b"{}", Settings.from_options({"keep_bodies": "0"}))
        lines = said("bridge.check", flow)
        assert lines[1:] == ["checked 1 flows: 1 not to be checked", f"# {lines[0][3:]}"]


class TestCheckOfOthers:
    def test_a_chat_backend_s_side_alone(self) -> None:
        flow = tflow()
        flow.request.content = b'{"model":"m","messages":[],"stream":true,"tools":[{"function":{"name":"f"}}]}'
        answer = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        flow.response = flows.refuse(200, {}, {"content-type": "text/event-stream"})
        flow.response.content = answer
        assert said("bridge.check", flow)[0] == (
            "1: not bridged, a chat backend's request, nothing to lower; its answer can be lifted (nothing to do)"
        )

    def test_a_responses_backend_s_side_alone(self) -> None:
        flow = tflow()
        flow.request.content = b'{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":"x"}]}'
        flow.response = flows.refuse(200, {"object": "response", "id": "r", "status": "completed", "output": []})
        assert (
            "its request needs no lowering (nothing to do); its answer can be lifted" in said("bridge.check", flow)[0]
        )

    def test_a_client_s_side_alone(self) -> None:
        bridged = load(CODE_MODE)[3]
        flow = tflow(resp=True)
        assert flow.response
        flow.request.content = bodies(bridged)["client request"]
        flow.response.content = bodies(bridged)["client response"]
        flow.response.headers["content-type"] = "text/event-stream"
        text = said("bridge.check", flow)[0]
        assert "its request can be lowered (hoisted, flattened, lowered, grammar" in text
        assert "its answer needs no lifting" in text

    def test_another_format(self) -> None:
        flow = tflow()
        flow.metadata["bridge"] = {"version": 7}
        assert said("bridge.check", flow)[0] == "1: recorded in another format than 1; record it again to check it"


class TestExport:
    def test_four_bodies_and_a_curl_line(self, tmp_path: Path) -> None:
        flow = load(CODE_MODE)[3]
        with proxy(NOWHERE) as between:
            between.call("bridge.export", [flow], str(tmp_path / "out" / "here"))
        written = {path.name: path.read_bytes() for path in (tmp_path / "out" / "here").iterdir()}
        assert sorted(written) == [
            "001-backend-request.json",
            "001-backend-response.sse",
            "001-client-request.json",
            "001-client-response.sse",
            "001-curl.sh",
        ]
        assert written["001-client-request.json"] == bodies(flow)["client request"]
        assert written["001-backend-response.sse"] == bodies(flow)["backend response"]

    def test_the_curl_line_sends_what_was_sent_with_the_key_of_the_shell(self, tmp_path: Path) -> None:
        flow = recorded(ASK, b"{}")
        flow.request.path = "/v1/it's?api-version=1&key=sk-secret"
        flow.request.headers["authorization"] = "Bearer sk-secret"
        export(flow, bodies_of(flow), tmp_path, 1)
        assert "sk-secret" not in (tmp_path / "001-curl.sh").read_text()
        (tmp_path / "curl").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        (tmp_path / "curl").chmod(0o755)
        environment = {"OPENAI_API_KEY": "sk-of-the-shell", "PATH": f"{tmp_path}:/usr/bin:/bin"}
        ran = subprocess.run(["sh", "001-curl.sh"], cwd=tmp_path, env=environment, check=True, capture_output=True)
        assert ran.stdout.decode().splitlines() == [
            "-N",
            "http://127.0.0.1:8000/v1/it's?api-version=1&key=sk-of-the-shell",
            "-H",
            "content-type: application/json",
            "-H",
            "authorization: Bearer sk-of-the-shell",
            "--data-binary",
            "@001-backend-request.json",
        ]

    def test_a_flow_without_a_key_or_an_answer(self, tmp_path: Path) -> None:
        flow = tflow()
        assert [path.name for path in export(flow, bodies_of(flow), tmp_path, 12)] == [
            "012-client-request.txt",
            "012-backend-request.txt",
        ]
        flow.request.method = "POST"
        export(flow, bodies_of(flow), tmp_path, 12)
        assert "authorization" not in (tmp_path / "012-curl.sh").read_text()
        assert shlex.split((tmp_path / "012-curl.sh").read_text())[2] == "http://address:22/path"

    def test_what_was_written_before_stays(self, tmp_path: Path) -> None:
        with proxy(NOWHERE) as between:
            for flow in load(CODE_MODE)[:2]:
                between.call("bridge.export", [flow], str(tmp_path))
        assert sorted({path.name[:3] for path in tmp_path.iterdir()}) == ["001", "002"]

    def test_a_refused_request_was_never_sent_and_gets_no_curl_line(self, tmp_path: Path) -> None:
        flow = recorded(ASK, b"{}")
        flows.mark_refused(flow, 400, "tools")
        written = [path.name for path in export(flow, bodies_of(flow), tmp_path, 1)]
        assert written == ["001-client-request.json", "001-client-response.sse"]

    @pytest.mark.parametrize(
        "query", ["a=b;key=hunter", "k%65y=hunter", "hunter", "x=https://u:hunter@h", "code=hunter"]
    )
    def test_a_query_tells_no_secret(self, query: str, tmp_path: Path) -> None:
        flow = recorded(ASK, b"{}")
        flow.request.path += f"?{query}"
        export(flow, bodies_of(flow), tmp_path, 1)
        assert "hunter" not in (tmp_path / "001-curl.sh").read_text()

    def test_a_folder_that_cannot_be_made_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with proxy(NOWHERE) as between, pytest.raises(exceptions.CommandError, match="cannot be written"):
            between.call("bridge.export", [tflow()], str(tmp_path / "file" / "x"))


def comment_of(flow: HTTPFlow) -> str:
    """The comment of a flow."""
    return flow.comment


def test_a_setting_changed_at_run_time_holds_from_the_next_flow() -> None:
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "exec", "arguments": '{"code":"x"}'}
    script = stream(
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
    )
    with backend(lambda _: script) as running, proxy(running.url) as between:
        inputs = []
        for malformed in ("salvage", "raw"):
            between.set(bridge_malformed=malformed)
            events = between.post(ASK).events
            inputs += [event["item"]["input"] for event in events if event["type"] == "response.output_item.done"]
    assert inputs == ["x", '{"code":"x"}']


@pytest.mark.parametrize(
    ("verbosity", "seen"),
    [("quiet", 0), ("line", 1), ("ledger", 2), ("diff", 3)],
)
def test_how_much_is_logged(verbosity: str, seen: int) -> None:
    script = stream({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}})
    with backend(lambda _: script) as running, proxy(running.url, f"bridge_verbosity={verbosity}") as between:
        between.post(ASK)
    log = "\n".join(between.log.lines)
    parts = ("bridge: lowered", "request   lowered", "~ tools[0].type")
    assert [part for part in parts if part in log] == list(parts[:seen])


def test_a_refused_request_says_so_in_the_flow_list() -> None:
    with proxy(NOWHERE) as between:
        between.post({"input": [{"type": "message"}]})
    assert comment_of(between.flows[-1]) == "bridge: refused with 400: input[0].role"
