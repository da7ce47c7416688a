"""What the client or the backend did wrong, in words for people, in the error shape of the OpenAI API."""

from __future__ import annotations

import re

from bridge.jsonvalue import JSON, Object, as_index, as_text


class ClientError(Exception):
    """The client sent what the bridge cannot carry: answered with `status`, never forwarded.

    `param` is the path of the field (`input[3].call_id`); `message` says what is wrong there and how to mend it.
    """

    def __init__(self, message: str, param: str | None = None, status: int = 400, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status
        self.code = code

    def body(self) -> Object:
        """The HTTP error body."""
        return error_body(self.message, "invalid_request_error", self.code, self.param)


class BackendError(Exception):
    """The backend sent what cannot be read as an answer; ends in `response.failed` or a 502."""


def error_body(message: str, kind: str, code: str, param: str | None = None) -> Object:
    """An error in OpenAI's HTTP shape: `{"error": {"message", "type", "param", "code"}}`."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def as_error(value: JSON) -> Object:
    """An error as backends say it, an object or a string → the object."""
    return value if isinstance(value, dict) else {"message": as_text(value)}


_NUMBERED = {401: "invalid_api_key", 429: "rate_limit_exceeded", 503: "server_is_overloaded"}
_TYPED = {
    "rate_limit_error": "rate_limit_exceeded",
    "overloaded_error": "server_is_overloaded",
    "insufficient_quota": "insufficient_quota",
    "exceed_context_size_error": "context_length_exceeded",
}
_CONTEXT = re.compile(
    r"context[ _](?:length|window|size)|maximum context|(?:prompt|input) is too long|(?:prompt|input) exceeds "
    r"|exceeds? the (?:model's )?(?:maximum|context)",
    re.IGNORECASE,
)


def code_of(error: Object) -> str:
    """The string code by which Codex classifies an error; backends send numbers, types or nothing in its place."""
    code, kind = error.get("code"), as_text(error.get("type"))
    if _CONTEXT.search(as_text(error.get("message"))):
        return "context_length_exceeded"
    if isinstance(code, str) and code and not code.isdigit():
        return _TYPED.get(code, code)
    if kind in _TYPED:
        return _TYPED[kind]
    number = int(code) if isinstance(code, str) and code.isdecimal() else as_index(code)
    return _NUMBERED.get(number or 0, "server_error")
