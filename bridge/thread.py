"""The thread that a request belongs to."""

from __future__ import annotations

from bridge.jsonvalue import Object, as_object, as_text


def thread_of(request: Object) -> str:
    """A client's request → the id of its thread, which Codex says in its metadata; empty for other clients."""
    return as_text(as_object(request.get("client_metadata")).get("thread_id"))
