"""HTTP errors of chat backends → the status and the code on which Codex does the right thing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.chat.errors import LONGEST_MESSAGE, lift_error
from bridge.exchange import Exchange, Mode
from bridge.ledger import Rule
from bridge.settings import Settings

LLAMA = "request (70000 tokens) exceeds the available context size (8192 tokens), try increasing it"
VLLM = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."


def lifted(status: int, body: Any, retry_after: str = "") -> tuple[int, Any]:
    """A backend's error → (status, error object); a string is the body itself."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    status, made = lift_error(status, data, retry_after)
    assert list(made) == ["error"]
    return status, made["error"]


def error(**fields: Any) -> Any:
    """An error body in OpenAI's shape."""
    return {"error": fields}


# Context overflow: under whatever status, Codex compacts on this code


@pytest.mark.parametrize("status", [400, 401, 413, 422, 500])
@pytest.mark.parametrize(
    "body",
    [
        error(code=400, type="exceed_context_size_error", message=LLAMA, n_prompt_tokens=70000, n_ctx=8192),
        error(code=None, type="invalid_request_error", message=VLLM),
        error(code="context_length_exceeded", message="Too long."),
        {"object": "error", "message": VLLM, "type": "BadRequestError", "param": None, "code": 400},
        {"detail": "The prompt exceeds the context window."},
        "Error: prompt is too long: 9000 tokens > 8192 maximum",
    ],
    ids=["llama.cpp", "vLLM", "OpenAI", "flat", "FastAPI", "plain text"],
)
def test_an_overflow_of_the_context_is_a_400_with_its_code(status: int, body: Any) -> None:
    # B025, unslothai/unsloth#10938
    answered, made = lifted(status, body)
    assert (answered, made["code"], made["type"]) == (400, "context_length_exceeded", "invalid_request_error")


def test_the_backends_words_on_an_overflow_are_kept() -> None:
    assert lifted(500, error(code=500, message=LLAMA))[1]["message"] == LLAMA


@pytest.mark.parametrize("status", [404, 429, 503])
def test_no_other_status_becomes_a_400(status: int) -> None:
    assert lifted(status, error(message=VLLM))[0] == status


# Status and code


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, error(message="Bad field."), "invalid_request"),
        (400, error(message="Bad field.", code=400), "invalid_request"),
        (400, error(message="Bad field.", code="bad_field"), "bad_field"),
        (401, error(message="Wrong key."), "invalid_api_key"),
        (401, error(message="Wrong key.", code=401), "invalid_api_key"),
        (402, error(message="Pay first."), "insufficient_quota"),
        (402, error(message="Insufficient Balance", code="invalid_request_error"), "insufficient_quota"),
        (403, error(message="No."), "permission_denied"),
        (404, {"detail": "Not Found"}, "not_found"),
        (429, error(message="Slow down."), "rate_limit_exceeded"),
        (429, error(message="Slow down.", code=429), "rate_limit_exceeded"),
        (429, error(message="Slow down.", type="rate_limit_error"), "rate_limit_exceeded"),
        (429, error(message="You exceeded your current quota."), "insufficient_quota"),
        (429, error(message="No money left.", type="insufficient_quota"), "insufficient_quota"),
        (500, error(message="Oops."), "server_error"),
        (500, error(message="Oops.", code=500), "server_error"),
        (500, error(message="Busy.", type="overloaded_error"), "server_is_overloaded"),
        (502, "<html><body>Bad Gateway</body></html>", "server_error"),
        (503, error(message="Loading model", code=503, type="unavailable_error"), "server_is_overloaded"),
        (503, "", "server_is_overloaded"),
        (529, error(message="Overloaded"), "server_is_overloaded"),
    ],
)
def test_the_status_stays_and_the_code_is_a_word_that_codex_knows(status: int, body: Any, code: str) -> None:
    answered, made = lifted(status, body)
    assert (answered, made["code"]) == (status, code)


@pytest.mark.parametrize(
    ("status", "given", "kind"),
    [
        (400, {}, "invalid_request_error"),
        (401, {"type": "authentication_error"}, "authentication_error"),
        (503, {"type": "unavailable_error"}, "server_error"),
    ],
)
def test_an_error_has_a_type(status: int, given: Any, kind: str) -> None:
    assert lifted(status, error(message="No.", **given))[1]["type"] == kind


# Words


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (error(message="No."), "No."),
        ({"error": "No."}, "No."),
        ({"message": "No."}, "No."),
        ({"detail": "No."}, "No."),
        ({"code": 1113, "msg": "No."}, "No."),
        ("No.\n", "No."),
        ("<html><head></head><body><h1>Service</h1>\n<p>Unavailable</p></body></html>", "Service Unavailable"),
        ("", "The backend answered 400."),
        ({}, "The backend answered 400."),
        (error(message=None), "The backend answered 400."),
    ],
    ids=["OpenAI", "error text", "flat", "FastAPI", "envelope", "plain", "HTML", "nothing", "empty", "null"],
)
def test_the_words_of_an_error_are_found_however_it_is_wrapped(body: Any, message: str) -> None:
    assert lifted(400, body)[1]["message"] == message


@pytest.mark.parametrize("body", ["w" * 9000, error(message="w" * 9000)], ids=["plain", "JSON"])
def test_a_long_message_is_shortened(body: Any) -> None:
    assert lifted(400, body)[1]["message"] == "w" * LONGEST_MESSAGE


def test_bytes_that_are_no_utf8_do_not_hide_the_rest() -> None:
    _, made = lift_error(500, b"\xff\xfe broken", "")
    assert "broken" in json.dumps(made)


# Rate limits


@pytest.mark.parametrize(
    ("body", "retry_after", "message"),
    [
        (error(message="Too many requests"), "7", "Too many requests. Please try again in 7s."),
        (error(message="Too many requests."), "7", "Too many requests. Please try again in 7s."),
        ("Too many", "7", "Too many. Please try again in 7s."),
        ("", "7", "The backend answered 429. Please try again in 7s."),
        (error(message="Please try again in 1.5s"), "7", "Please try again in 1.5s"),
        (error(message="Too many requests"), "", "Too many requests"),
        (error(message="Too many requests"), "Wed, 21 Oct 2026 07:28:00 GMT", "Too many requests"),
        (error(message="You exceeded your current quota."), "7", "You exceeded your current quota."),
    ],
    ids=["wait", "full stop", "plain", "nothing", "has one", "no header", "a date", "quota"],
)
def test_a_rate_limit_tells_codex_how_long_to_wait(body: Any, retry_after: str, message: str) -> None:
    # B092, BigPizzaV3/CodexPlusPlus#1224
    assert lifted(429, body, retry_after)[1]["message"] == message


def test_no_other_error_speaks_of_waiting() -> None:
    assert lifted(400, error(message="Bad field."), "7")[1]["message"] == "Bad field."


# In an exchange


def test_an_error_in_html_reaches_the_client_as_json_with_its_status() -> None:
    # B099, Soju06/codex-lb#2396
    request = json.dumps({"model": "m", "input": "Go.", "stream": True}).encode()
    exchange = Exchange.open(request, Settings.from_options({"backend": "chat"}), seed="x", now=1)
    assert exchange.begin(503, "text/html") is Mode.PASS
    answer = exchange.passed(b"<html><body>Service Unavailable</body></html>", "text/html")
    made = {"message": "Service Unavailable", "type": "server_error", "param": None, "code": "server_is_overloaded"}
    assert (answer.status, answer.content_type, json.loads(answer.body)) == (503, "application/json", {"error": made})
    assert [entry.what for entry in exchange.ledger if entry.rule is Rule.FAILED] == ["HTTP 503"]


def test_the_wait_of_the_header_reaches_the_message() -> None:
    exchange = Exchange.open(b'{"model":"m","input":"Go."}', Settings.from_options({"backend": "chat"}))
    exchange.begin(429, "application/json", retry_after="7")
    answer = exchange.passed(b'{"error":{"message":"Too many requests"}}', "application/json")
    assert (answer.status, "try again in 7s" in answer.body.decode()) == (429, True)
