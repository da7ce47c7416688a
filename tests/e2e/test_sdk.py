"""The OpenAI SDK as the client of llama.cpp, through the mitmdump command with the addon, on both wires."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.responses import ResponseCompletedEvent, ResponseCustomToolCall, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from tests.e2e.llama import WIRES, Served
from tests.e2e.payloads import PAYLOADS
from tests.support.sse_tools import assert_adds_up, assert_dense, assert_valid, assert_valid_response

pytestmark = [pytest.mark.llama, pytest.mark.parametrize("wire", WIRES)]

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
NAMES = ("CRLF", "a wrapper", "nothing")
TOOLS: list[Any] = [
    {"type": "custom", "name": "exec", "description": "Runs a script.", "format": {"type": "text"}},
    {
        "type": "function",
        "name": "look",
        "parameters": {"type": "object", "properties": {"input": {"type": "string"}}},
        "strict": False,
    },
]

# Fields that the SDK does not type: OpenAI's own answers have the first one too, and the second is llama.cpp's, which
# the bridge passes on like all that no rule names.
UNTYPED = {(ResponseCustomToolCall, "status"), (ResponseCompletedEvent, "timings")}

nasty = pytest.mark.parametrize("payload", [PAYLOADS[name] for name in NAMES], ids=NAMES)


def client(real: Served, wire: str) -> openai.OpenAI:
    """The SDK, pointed at the bridge."""
    return real.bridges[wire].client()


def asking(payload: str, name: str = "exec") -> dict[str, Any]:
    """The arguments of a request that makes the model call."""
    return {"model": "small", "input": f"ECHO {name}\n{payload}", "tools": TOOLS, "max_output_tokens": 400}


def unknown(value: Any, path: str = "") -> list[str]:
    """Where a parsed value holds fields that the SDK's types do not have, at any depth."""
    if isinstance(value, BaseModel):
        extra = [f"{path}.{name}" for name in value.model_extra or {} if (type(value), name) not in UNTYPED]
        fields = [(f"{path}.{name}", getattr(value, name)) for name in type(value).model_fields]
        return extra + [found for place, field in fields for found in unknown(field, place)]
    items = value if isinstance(value, list) else []
    return [found for index, item in enumerate(items) for found in unknown(item, f"{path}[{index}]")]


def judged(events: list[Any]) -> list[Any]:
    """The events as JSON, once each is what the SDK's union of events says, with nothing else in it."""
    told = [event.model_dump(mode="json", exclude_unset=True) for event in events]
    assert_valid(told)
    assert_dense(told)
    for event in told:
        parsed = EVENT.validate_python(event)
        assert (parsed.type, unknown(parsed)) == (event["type"], [])
    return told


@nasty
def test_a_whole_answer(real: Served, wire: str, payload: str) -> None:
    response = client(real, wire).responses.create(**asking(payload))
    (item,) = response.output
    assert isinstance(item, ResponseCustomToolCall)
    assert (item.name, item.input, response.status) == ("exec", payload, "completed")
    assert_valid_response(response.model_dump(mode="json", exclude_unset=True))
    assert unknown(response) == []


@nasty
def test_a_streamed_answer(real: Served, wire: str, payload: str) -> None:
    events = judged(list(client(real, wire).responses.create(**asking(payload), stream=True)))
    assert_adds_up(events, payload)
    assert events[-1]["type"] == "response.completed"
    assert [item["input"] for item in events[-1]["response"]["output"]] == [payload]


@nasty
def test_the_helper_for_streams(real: Served, wire: str, payload: str) -> None:
    with client(real, wire).responses.stream(**asking(payload)) as running:
        items = [event.item for event in running if event.type == "response.output_item.done"]
        final = running.get_final_response().output
    assert [item.model_dump() for item in final] == [item.model_dump() for item in items]
    (item,) = final
    assert isinstance(item, ResponseCustomToolCall)
    assert item.input == payload


def test_a_function_beside_a_custom_tool_stays_one(real: Served, wire: str) -> None:
    with client(real, wire).responses.stream(**asking("x", "look")) as running:
        (item,) = running.get_final_response().output
    assert (item.type, item.name) == ("function_call", "look")  # type: ignore[union-attr]


def test_what_the_sdk_got_is_what_it_sends_back(real: Served, wire: str) -> None:
    asked = asking("x")
    first = client(real, wire).responses.create(**asked)
    (call,) = first.output
    assert isinstance(call, ResponseCustomToolCall)
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "ok"}
    history = [{"role": "user", "content": asked["input"]}, call, output]
    with client(real, wire).responses.stream(**{**asked, "input": history}) as running:
        texts = [event.delta for event in running if event.type == "response.output_text.delta"]
        final = running.get_final_response()
    assert ("".join(texts), final.output_text) == ("Done.", "Done.")
    history.append({"role": "user", "content": "ECHO exec\nagain"})
    judged(list(client(real, wire).responses.create(**{**asked, "input": history}, stream=True)))


def test_text_is_streamed_in_valid_events(real: Served, wire: str) -> None:
    asked: dict[str, Any] = {"model": "small", "input": "Hello.", "max_output_tokens": 12}
    events = judged(list(client(real, wire).responses.create(**asked, stream=True)))
    assert events[-1]["type"] in ("response.completed", "response.incomplete")


def test_a_refusal_of_the_server_is_an_error_of_the_sdk(real: Served, wire: str) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    history: Any = [{"role": "user", "content": [image]}]
    with pytest.raises(openai.APIStatusError, match="image input is not supported"):
        client(real, wire).responses.create(model="small", input=history, max_output_tokens=9)
