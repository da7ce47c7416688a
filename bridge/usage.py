"""Token usage that Codex and the SDK can read, whatever names a backend gives it."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_index, as_object

_COUNTERS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
_DETAILS = {
    "input_tokens_details": ("prompt_tokens_details", ("cached_tokens", "cache_write_tokens")),
    "output_tokens_details": ("completion_tokens_details", ("reasoning_tokens",)),
}
_CACHED = ("prompt_cache_hit_tokens", "cached_tokens")
"""Where DeepSeek and Moonshot put the cached tokens: beside the others."""


def is_readable(usage: JSON) -> bool:
    """Whether Codex can read it: absent, or integers, and no details without their counters.

    Anything else makes Codex throw the whole turn away and run it again (0.154 to 0.171).
    """
    if usage is None:
        return True
    if not isinstance(usage, dict):
        return False
    counted = all(as_index(usage.get(key)) is not None for key in (*_COUNTERS, "total_tokens"))
    details = {counters[0]: usage[key] for key, (_, counters) in _DETAILS.items() if usage.get(key) is not None}
    return counted and all(as_index(as_object(given).get(counter)) is not None for counter, given in details.items())


def complete(usage: JSON) -> JSON:
    """Usage, by the names of either API → all counters of the Responses API; null if the tokens are not known."""
    if not isinstance(usage, dict):
        return None
    into, out = (_first(usage, key, chat) for key, chat in _COUNTERS.items())
    if into is None or out is None:
        return None
    total = as_index(usage.get("total_tokens"))
    chat_names = {*_COUNTERS.values(), *(chat for chat, _ in _DETAILS.values()), *_CACHED}
    return {
        **{key: value for key, value in usage.items() if key not in chat_names},
        "input_tokens": into,
        "output_tokens": out,
        "total_tokens": into + out if total is None else total,
        **{key: _details(usage, key) for key in _DETAILS},
    }


def _details(usage: Object, key: str) -> Object:
    chat, counters = _DETAILS[key]
    given = as_object(usage.get(key)) or as_object(usage.get(chat))
    counted: Object = {counter: as_index(given.get(counter)) or 0 for counter in counters}
    if "cached_tokens" in counted and not counted["cached_tokens"]:
        counted["cached_tokens"] = _first(usage, *_CACHED) or 0
    return {**given, **counted}


def _first(usage: Object, *keys: str) -> int | None:
    return next((count for key in keys if (count := as_index(usage.get(key))) is not None), None)
