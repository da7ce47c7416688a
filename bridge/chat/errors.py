"""HTTP errors of a chat backend → errors that Codex acts on as they were meant."""

from __future__ import annotations

import re

from bridge.errors import BY_STATUS, code_of, error_body
from bridge.jsonvalue import JSON, Object, as_object, as_text, parse

LONGEST_MESSAGE = 500
LONGEST_PAGE = 4_000
"""Bytes of an error page that are looked through for words: tags that nobody closes take time in square."""
_OVERFLOW_UNDER = (400, 401, 413, 422, 500)
_MEANT_BY_STATUS = (429, 503, 529)
"""Statuses that say more than a backend's own code does."""
_WAIT = re.compile(r"try again in", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def lift_error(status: int, body: bytes, retry_after: str) -> tuple[int, Object]:
    """(status, body, retry-after header) → the status for Codex, and a body in OpenAI's shape.

    An overflow of the context is 400 for Codex, whatever the backend calls it; else the status stays.
    """
    error = _read(body)
    message = as_text(error.get("message"))[:LONGEST_MESSAGE] or f"The backend answered {status}."
    code = code_of({**error, "message": message}, status)
    if code == "context_length_exceeded" and status in _OVERFLOW_UNDER:
        return 400, error_body(message, "invalid_request_error", code)
    if status in _MEANT_BY_STATUS and code != "insufficient_quota":
        code = BY_STATUS[status]
    if code == "server_error" and status < 500:
        code = "invalid_request"
    if code == "rate_limit_exceeded" and _SECONDS.fullmatch(retry_after) and not _WAIT.search(message):
        message = f"{message.rstrip('.')}. Please try again in {retry_after}s."
    kind = "server_error" if status >= 500 else as_text(error.get("type")) or "invalid_request_error"
    return status, error_body(message, kind, code)


def _read(body: bytes) -> Object:
    """The error in a body, however it is wrapped; of HTML and plain text the words."""
    try:
        value = parse(body)
    except ValueError:
        page = body[:LONGEST_PAGE].decode("utf-8", "replace")
        return {"message": " ".join(_MARKUP.sub(" ", page).split())}
    found = as_object(value[0] if isinstance(value, list) and value else value)
    error = found.get("error") or found
    if not isinstance(error, dict):
        return {"message": as_text(error)}
    said = (error.get("message"), found.get("msg"), found.get("detail"))
    return {**error, "message": next((words for words in map(_words, said) if words), "")}


def _words(said: JSON) -> str:
    """A message; FastAPI also says an object, or a list of `{loc, msg}`."""
    if isinstance(said, list):
        return "; ".join(filter(None, map(_words, said)))
    if isinstance(said, dict):
        place = said.get("loc")
        path = ".".join(str(part) for part in place) + ": " if isinstance(place, list) else ""
        words = as_text(said.get("message")) or as_text(said.get("msg"))
        return path + words if words else ""
    return as_text(said)
