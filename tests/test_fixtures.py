"""Fixtures: what is written of a recording holds nothing of whoever made it, and is still a recording."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mitmproxy import exceptions
from mitmproxy.flow import Error
from mitmproxy.http import HTTPFlow
from mitmproxy.test.tflow import tflow

from bridge import fixtures, flows, sse
from bridge.checking import check
from bridge.errors import ClientError
from bridge.settings import Settings
from tests.support.proxy import ADDON, Proxy, proxy
from tests.support.recordings import FOLDER, bodies, load, recorded, written
from tests.test_playback import NOWHERE

RECORDINGS = sorted(FOLDER.glob("*.mitm"))
LETTERS = "bcdfghjkmpqvwxz"
FORMS = ["{}", "sk-{}", "{}@example.com", "/home/{}/code", "https://{}.internal/x", "Bearer {}", "日本{}", "{}-4711"]
WORDS = st.lists(st.text(LETTERS, min_size=9, max_size=14), min_size=1, max_size=4)


def everything(path: Path) -> str:
    """All that a recording and its expected file hold, unpacked."""
    texts = [path.with_suffix(".expected.json").read_text()]
    for flow in load(path):
        texts += [repr(flow.get_state()), *(body.decode("utf-8", "replace") for body in unpacked(flow))]
    return "\n".join(texts)


def unpacked(flow: HTTPFlow) -> list[bytes]:
    """The bodies in a flow's metadata."""
    stored = flows.load(flow) or {}
    return [flows.unpack(stored.get(key)) for key in ("client_request", "backend_response")]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of a string in a value."""
    if isinstance(value, (dict, list)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(entry, str):
                yield value, key
            yield from places(entry)


def plant(value: Any, secrets: list[str], draw: st.DataObject) -> None:
    """Put each secret in place of a string, at its end, or under a key of its own."""
    for secret in secrets:
        holder, key = draw.draw(st.sampled_from(list(places(value))))
        how = draw.draw(st.sampled_from(["replace", "append", "key"]))
        if how == "key" and isinstance(holder, dict):
            holder[f"x {secret}"] = {"note": [secret], "name": secret, "id": secret}
        else:
            holder[key] = secret if how == "replace" else f"{holder[key]} {secret}"


def planted(flow: HTTPFlow, secrets: list[str], draw: st.DataObject) -> HTTPFlow | None:
    """A flow of the same kind that holds secrets wherever it can; None if the bridge would refuse its request."""
    stored = flows.load(flow)
    assert stored
    request = json.loads(bodies(flow)["client request"])
    answer = [json.loads(line[6:]) for line in bodies(flow)["backend response"].decode().splitlines() if "{" in line]
    plant(request, secrets, draw)
    plant(answer, secrets, draw)
    text = b"".join(sse.encode(event, named=False) for event in answer)
    text += f": {secrets[0]}\n\nid: {secrets[0]}\ndata: {{broken {secrets[0]}\n\ndata: [DONE]\n\n".encode()
    try:
        made = recorded(request, text, Settings.from_options({"backend": stored["backend"]}))
    except ClientError:
        return None
    hide_around(made, secrets[0])
    return made


def hide_around(flow: HTTPFlow, secret: str) -> None:
    """Put a secret everywhere on a flow but into its bodies."""
    assert flow.response
    flow.request.path += f"?key={secret}"
    flow.request.host = f"{secret}.example.com"
    for message in (flow.request, flow.response):
        message.headers["authorization"] = message.headers["x-odd"] = message.headers["set-cookie"] = secret
    flow.request.headers[f"x-{secret}".encode("ascii", "replace")] = b"1"
    flow.response.headers["content-type"] += f"; boundary={secret}"
    flow.metadata["note"] = {"of": secret}
    flow.metadata["bridge"]["client_path"] = f"/{secret}/v1/responses"
    flow.metadata["bridge"]["content_type"] += f"; boundary={secret}"
    flow.comment = flow.marked = secret
    flow.client_conn.sni = flow.server_conn.sni = secret
    flow.server_conn.address = (secret, 443)
    flow.error = Error(f"{secret} is gone")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(RECORDINGS), WORDS, st.data())
def test_no_planted_secret_survives(tmp_path: Path, source: Path, words: list[str], draw: st.DataObject) -> None:
    secrets = [draw.draw(st.sampled_from(FORMS)).format(word) for word in words]
    flow = planted(draw.draw(st.sampled_from(load(source))), secrets, draw)
    if flow is None:
        return
    target = tmp_path / "fixture.mitm"
    report = fixtures.write([flow], target, Settings())
    assert report.written == 1
    text = everything(target)
    assert [word for word in words if word in text] == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
class TestRecordings:
    def test_a_fixture_still_passes_the_check(self, path: Path, tmp_path: Path) -> None:
        target = tmp_path / "fixture.mitm"
        assert fixtures.write(load(path), target, Settings()).left_out == ()
        texts = {check(flow, Settings()).text for flow in load(target)}
        assert texts == {"request equal, response equal"}

    def test_making_one_of_a_fixture_changes_nothing(self, path: Path, tmp_path: Path) -> None:
        once, twice = tmp_path / "once.mitm", tmp_path / "twice.mitm"
        fixtures.write(load(path), once, Settings())
        fixtures.write(load(once), twice, Settings())
        assert twice.read_bytes() == once.read_bytes()

    def test_the_rules_that_fired_fire_again(self, path: Path, tmp_path: Path) -> None:
        target = tmp_path / "fixture.mitm"
        fixtures.write(load(path), target, Settings())
        for old, new in zip(load(path), load(target), strict=True):
            assert new.metadata[flows.RULES_KEY] == old.metadata[flows.RULES_KEY]

    def test_what_is_kept_is_what_it_was(self, path: Path, tmp_path: Path) -> None:
        target = tmp_path / "fixture.mitm"
        keeping = Settings.from_options({"fixture_prose": "true", "fixture_payloads": "true"})
        fixtures.write(load(path), target, keeping)
        assert inputs(load(target)) == inputs(load(path))


def inputs(recording: list[HTTPFlow]) -> list[Any]:
    """The payloads in the history, and the roles of the messages."""
    items = [item for flow in recording for item in json.loads(bodies(flow)["client request"])["input"]]
    return [item.get("input", item.get("role")) for item in items]


def test_times_and_pieces_are_taken_over(tmp_path: Path) -> None:
    flow = recorded({"model": "m", "stream": True, "input": "hi"}, b'data: {"type":"response.completed"}\n\n')
    later = copy.deepcopy(flow)
    later.request.timestamp_start += 60
    later.response = None
    target = tmp_path / "fixture.mitm"
    fixtures.write([flow, later], target, Settings())
    one, other = load(target)
    assert one.response
    assert other.request.timestamp_start - one.request.timestamp_start == 60
    assert (one.response.timestamp_start - one.request.timestamp_start) == 1
    assert one.response.timestamp_end
    assert one.response.timestamp_end - one.request.timestamp_start == 2
    chunks = one.metadata["bridge"]["chunks"]
    assert [when for when, _ in chunks] == [0, 5]
    assert sum(size for _, size in chunks) == len(bodies(one)["backend response"])


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (b'{"object":"response","status":"completed","output":[]}', 200, "application/json; charset=utf-8"),
        (b'{"error":{"message":"jane has no quota","code":"insufficient_quota"}}', 429, "application/json"),
        (b"<html>jane</html>", 502, "text/html"),
        (b"jane", 204, "image/png"),
        (b"", 200, ""),
    ],
)
def test_answers_of_every_kind(answer: bytes, status: int, kind: str, tmp_path: Path) -> None:
    flow = recorded({"model": "m", "input": "hi"}, answer, status=status, kind=kind)
    target = tmp_path / "fixture.mitm"
    fixtures.write([flow], target, Settings())
    (made,) = load(target)
    assert made.response
    assert flow.response
    assert made.response.status_code == flow.response.status_code
    assert not check(made, Settings()).different
    assert "jane" not in everything(target)


def test_a_flow_that_got_no_answer_has_none(tmp_path: Path) -> None:
    flow = recorded({"model": "m", "input": "hi"}, b"{}")
    flow.metadata["bridge"]["backend_response"] = flow.response = None
    flow.error = Error("jane hung up")
    fixtures.write([flow], tmp_path / "x.mitm", Settings())
    (made,) = load(tmp_path / "x.mitm")
    assert (made.response, made.error and made.error.msg) == (None, "the connection was closed")


def test_a_whole_chat_answer_is_expected_whole(tmp_path: Path) -> None:
    answer = b'{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"hunter"}}]}'
    chat = Settings.from_options({"backend": "chat"})
    fixtures.write(
        [recorded({"model": "m", "input": "hi"}, answer, chat, kind="application/json")], tmp_path / "x.mitm", chat
    )
    (turn,) = json.loads((tmp_path / "x.expected.json").read_text())
    assert turn["backend"] == [{"role": "assistant", "content": "loremi"}]
    assert turn["end"] == "completed"


def test_names_that_were_cut_are_cut_anew(tmp_path: Path) -> None:
    tool = {"type": "function", "name": "hunter" * 12, "parameters": {}}
    body = {"model": "m", "stream": True, "input": "hi", "tools": [{"type": "namespace", "name": "n", "tools": [tool]}]}
    (flat,) = [entry["name"] for entry in json.loads(bodies(recorded(body, b"{}"))["backend request"])["tools"]]
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": flat, "arguments": "{}"}
    events: list[Any] = [{"type": "response.output_item.done", "output_index": 0, "item": item}]
    target = tmp_path / "fixture.mitm"
    fixtures.write([recorded(body, b"".join(sse.encode(event, named=True) for event in events))], target, Settings())
    (made,) = load(target)
    sent = json.loads(bodies(made)["backend request"])["tools"][0]["name"]
    assert sent.encode() in bodies(made)["backend response"]
    assert flat[-8:] not in everything(target)


def test_what_cannot_be_remade_is_named(tmp_path: Path) -> None:
    unkept = recorded({"model": "m", "input": "hi"}, b"{}", Settings.from_options({"keep_bodies": "0"}))
    refused = recorded({"model": "m", "input": "hi"}, b"{}")
    refused.metadata["bridge"]["client_request"] = flows.pack(b'{"input": [{"type": "message"}]}', 1 << 20)
    report = fixtures.write(
        [tflow(), recorded({"input": "hi"}, b"{}"), unkept, refused], tmp_path / "x.mitm", Settings()
    )
    assert str(report) == "1 turns scrubbed; left out, for they were not bridged or cannot be read: 1, 3, 4"


CREDENTIALS = ["sk-abcdef123456", "password: hunter22x", "jane@acme.example.com", "https://jane:pw@host.internal/x"]


@pytest.mark.parametrize("secret", CREDENTIALS)
def test_what_looks_like_a_credential_goes_from_payloads_that_are_kept(secret: str, tmp_path: Path) -> None:
    script = f'text("{secret}"); // plain words stay'
    call: Any = {"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": script}
    body: Any = {"model": "m", "stream": True, "tools": [{"type": "custom", "name": "exec"}], "input": [call]}
    item: Any = {
        "type": "function_call",
        "id": "f",
        "call_id": "call_2",
        "name": "exec",
        "arguments": json.dumps({"input": script}),
    }
    done = sse.encode({"type": "response.output_item.done", "output_index": 0, "item": item}, named=True)
    target = tmp_path / "x.mitm"
    fixtures.write([recorded(body, done)], target, Settings.from_options({"fixture_payloads": "true"}))
    assert everything(target).count("plain words stay") >= 4
    assert [word for word in ("abcdef123456", "hunter22x", "jane", "acme") if word in everything(target)] == []


def test_words_of_the_settings_are_not_in_it(tmp_path: Path) -> None:
    mine = Settings.from_options({"model": "hunter2model", "body": ['user="janesecret"'], "keep_bodies": "0"})
    target = tmp_path / "x.mitm"
    fixtures.write([recorded({"model": "m", "input": "hi"}, b"{}")], target, mine)
    assert "hunter2model" not in everything(target)
    assert "janesecret" not in everything(target)
    assert not check(load(target)[0], Settings()).different


def test_a_cut_emoji_and_an_odd_stream_are_taken(tmp_path: Path) -> None:
    body = {"model": "m\ud83d", "stream": True, "input": "a \ud83d b"}
    target = tmp_path / "x.mitm"
    fixtures.write([recorded(body, b'junk\n\ndata: {"type":"response.created","response":{}}\n\n')], target, Settings())
    (made,) = load(target)
    assert b"response.created" in bodies(made)["backend response"]
    assert b"junk" not in bodies(made)["backend response"]


def test_metadata_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    damaged = recorded({"model": "m", "input": "hi"}, b"{}")
    damaged.metadata["bridge"]["client_request"] = b"no zlib"
    report = fixtures.write([damaged, recorded({"model": "m", "input": "hi"}, b"{}")], tmp_path / "x.mitm", Settings())
    assert (report.written, report.left_out) == (1, (1,))


class TestInMitmproxy:
    def test_nothing_to_write_leaves_what_is_there(self, tmp_path: Path) -> None:
        target = tmp_path / "b.mitm"
        target.write_bytes(b"keep")
        with (
            proxy(NOWHERE) as between,
            pytest.raises(exceptions.CommandError, match="is not written: 0 turns scrubbed"),
        ):
            between.call("bridge.fixture", [tflow()], str(target))
        assert target.read_bytes() == b"keep"

    def test_the_option_writes_what_was_read(self, tmp_path: Path) -> None:
        source, target = written(tmp_path / "a.mitm", *load(RECORDINGS[0]), tflow(resp=True)), tmp_path / "b.mitm"
        running = Proxy()
        running.run(f"reverse:{NOWHERE}", (f"bridge_fixture={target}", f"rfile={source}", "keepserving=false"))
        assert running.log.about(f"bridge: {target} and b.expected.json: {len(load(RECORDINGS[0]))} turns scrubbed")
        assert len(load(target)) == len(load(RECORDINGS[0]))

    def test_the_command_writes_the_flows_it_is_given(self, tmp_path: Path) -> None:
        target = tmp_path / "b.mitm"
        with proxy(NOWHERE) as between:
            between.call("bridge.fixture", [*load(RECORDINGS[0])[:2], tflow()], str(target))
        assert len(load(target)) == 2

    def test_a_place_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        with proxy(NOWHERE) as between, pytest.raises(exceptions.CommandError, match="cannot be written: No such file"):
            between.call("bridge.fixture", load(RECORDINGS[0])[:1], str(tmp_path / "no" / "b.mitm"))

    def test_a_place_that_cannot_be_written_ends_mitmdump_with_an_error(self, tmp_path: Path) -> None:
        arguments = ["-nr", str(RECORDINGS[0]), "-s", str(ADDON), "--set", f"bridge_fixture={tmp_path}/no/b.mitm"]
        command = [str(Path(sys.executable).with_name("mitmdump")), *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 1
        assert "cannot be written: No such file" in ended.stdout + ended.stderr
