"""What the client or the backend did wrong, in words for people, in the error shape of the OpenAI API."""

from __future__ import annotations

import re

from bridge.jsonvalue import JSON, Object, as_index, as_object, as_text, parse


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


def name_overflow(body: bytes) -> Object | None:
    """An error body that says only in words that the context is full → the same with its code; None for any other."""
    try:
        value = as_object(parse(body))
    except ValueError:
        return None
    error = as_object(value.get("error"))
    if isinstance(error.get("code"), str) or code_of(error) != "context_length_exceeded":
        return None
    return {**value, "error": {**error, "code": "context_length_exceeded"}}


BY_STATUS = {
    401: "invalid_api_key",
    402: "insufficient_quota",
    403: "permission_denied",
    404: "not_found",
    429: "rate_limit_exceeded",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}
"""HTTP statuses, which gateways also put into `code`; 529 is Anthropic's and MiniMax's word for overload."""
_TYPED = {
    "rate_limit_error": "rate_limit_exceeded",
    "overloaded_error": "server_is_overloaded",
    "insufficient_quota": "insufficient_quota",
    "exceed_context_size_error": "context_length_exceeded",
}
"""Types in place of codes: Anthropic's, OpenAI's, llama.cpp's."""
_CONTEXT = re.compile(
    r"context[ _](?:length|window|size)|maximum context|(?:prompt|input) is too long"
    r"|(?:prompt|input|request) exceeds (?:the )?(?:max(?:imum)? (?:\w+ )?length|context)",
    re.IGNORECASE,
)
"""How vLLM, llama.cpp, Anthropic, GLM and DeepSeek say that the context is full."""
_QUOTA = re.compile(r"insufficient.{0,10}(?:quota|balance|credit)|exceeded your current quota", re.IGNORECASE)
"""How DeepSeek, OpenRouter and OpenAI say that there is no money left."""


def code_of(error: Object, status: int = 0) -> str:
    """The string code by which Codex classifies an error; backends send numbers, types or nothing in its place.

    `status`: that of the HTTP answer, where there is one.
    """
    code, message = error.get("code"), as_text(error.get("message"))
    named = code if isinstance(code, str) and not code.isdigit() else ""
    named = _TYPED.get(named, named) or _TYPED.get(as_text(error.get("type")), "")
    if _QUOTA.search(message) or "insufficient_quota" in (named, error.get("type")):
        return "insufficient_quota"
    if named != "rate_limit_exceeded" and _CONTEXT.search(message):
        return "context_length_exceeded"
    number = int(code) if isinstance(code, str) and code.isdecimal() and len(code) < 10 else as_index(code)
    return named or BY_STATUS.get(number or 0) or BY_STATUS.get(status, "server_error")
