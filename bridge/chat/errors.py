"""HTTP errors of a chat backend → errors that Codex acts on as they were meant."""

from __future__ import annotations

import re

from bridge.errors import code_of, error_body
from bridge.jsonvalue import Object, as_object, as_text, parse

LONGEST_MESSAGE = 500
_OVERFLOW_UNDER = (400, 401, 413, 422, 500)
_BY_STATUS = {
    401: "invalid_api_key",
    402: "insufficient_quota",
    403: "permission_denied",
    404: "not_found",
    429: "rate_limit_exceeded",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}
_QUOTA = re.compile(r"insufficient.{0,10}(?:quota|balance|credit)|exceeded your current quota|billing", re.IGNORECASE)
_WAIT = re.compile(r"try again in", re.IGNORECASE)
_TAGS = re.compile(r"<[^>]*>")


def lift_error(status: int, body: bytes, retry_after: str) -> tuple[int, Object]:
    """(status, body, retry-after header) → the status for Codex, and a body in OpenAI's shape.

    An overflow of the context is 400 for Codex, whatever the backend calls it; else the status stays.
    """
    error = _read(body)
    message = as_text(error.get("message")) or f"The backend answered {status}."
    code = code_of({**error, "message": message})
    if code == "context_length_exceeded" and status in _OVERFLOW_UNDER:
        return 400, error_body(message, "invalid_request_error", code)
    if code == "server_error":
        code = _BY_STATUS.get(status, "server_error" if status >= 500 else "invalid_request")
    if _QUOTA.search(message):
        code = "insufficient_quota"
    if code == "rate_limit_exceeded" and retry_after.isdigit() and not _WAIT.search(message):
        message = f"{message.rstrip('.')}. Please try again in {retry_after}s."
    kind = "server_error" if status >= 500 else as_text(error.get("type")) or "invalid_request_error"
    return status, error_body(message, kind, code)


def _read(body: bytes) -> Object:
    """The error in a body, however it is wrapped; of HTML and plain text the words."""
    try:
        value = parse(body)
    except ValueError:
        words = " ".join(_TAGS.sub(" ", body.decode("utf-8", "replace")).split())
        return {"message": words[:LONGEST_MESSAGE]}
    found = as_object(value)
    error = found.get("error") or found
    if not isinstance(error, dict):
        return {"message": as_text(error)}
    message = as_text(error.get("message")) or as_text(found.get("detail")) or as_text(found.get("msg"))
    return {**error, "message": message[:LONGEST_MESSAGE]}
