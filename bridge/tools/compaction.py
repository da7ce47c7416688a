"""Compaction by a backend that has none: it is asked for a summary, which travels in the bridge's own blob."""

from __future__ import annotations

from bridge.blob import seal, unseal
from bridge.jsonvalue import JSON, Object, as_objects, as_text, without
from bridge.ledger import Ledger, Rule
from bridge.tools.messages import user_message

TRIGGER = "compaction_trigger"
ITEMS = ("compaction", "compaction_summary", "context_compaction")
SUMMARY_REQUEST = (
    "Summarize this conversation so that the work can go on from the summary alone: the task and its constraints, "
    "what was done and decided, the files and facts that matter, and what comes next. Answer with the summary only; "
    "call no tools."
)
_SUMMARY_INTRODUCTION = "Summary of the conversation so far:\n\n"
_UNAVAILABLE = "[Earlier history was compacted by another service and is not available here.]"


def is_asked(body: Object) -> bool:
    """Whether a request asks for a compaction in its input."""
    return any(item.get("type") == TRIGGER for item in as_objects(body.get("input")))


def lower_compaction(item: Object, path: str, ledger: Ledger) -> Object:
    """A compaction item → its summary as a message; a foreign one → a note."""
    summary = unseal(as_text(item.get("encrypted_content")))
    if summary is None:
        ledger.add(Rule.NOTED, "foreign compaction", path, warning="its summary cannot be read; a note stands there")
        return user_message(_UNAVAILABLE)
    ledger.add(Rule.COMPACTED, "summary restored", path)
    return user_message(_SUMMARY_INTRODUCTION + summary)


def lift_compaction(identity: str, summary: str) -> Object:
    """A summary → the compaction item that the client replays."""
    return {"type": "compaction", "id": identity, "encrypted_content": seal(summary)}


def ask(body: Object, ledger: Ledger) -> Object:
    """The request that asks the model for the summary: the same history and tools, no call allowed."""
    ledger.add(Rule.COMPACTED, "summary asked for", "input")
    items = body.get("input")
    history: list[JSON] = (
        list(items) if isinstance(items, list) else [user_message(items)] if isinstance(items, str) else []
    )
    asking: Object = {**body, "input": [*history, user_message(SUMMARY_REQUEST)]}
    if isinstance(text := body.get("text"), dict) and "format" in text:
        asking["text"] = without(text, "format")
    return {**asking, "tool_choice": "none"} if body.get("tools") else asking
