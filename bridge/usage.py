"""Token usage that Codex and the SDK can read."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_index, as_object

_CHAT_NAMES = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
_DETAILS = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "output_tokens_details": ("reasoning_tokens",),
}


def is_readable(usage: JSON) -> bool:
    """Whether Codex can read it: absent, or integers, and no details without their counters.

    Anything else makes Codex throw the whole turn away and run it again (0.154 to 0.171).
    """
    if usage is None:
        return True
    if not isinstance(usage, dict):
        return False
    counted = all(as_index(usage.get(key)) is not None for key in ("input_tokens", "output_tokens", "total_tokens"))
    details = {counters[0]: usage[key] for key, counters in _DETAILS.items() if usage.get(key) is not None}
    return counted and all(as_index(as_object(given).get(counter)) is not None for counter, given in details.items())


def complete(usage: JSON) -> JSON:
    """Usage → all of its counters as integers, or null if the tokens in or out are not known."""
    if not isinstance(usage, dict):
        return None
    into, out = (_counter(usage, key) for key in ("input_tokens", "output_tokens"))
    if into is None or out is None:
        return None
    total = as_index(usage.get("total_tokens"))
    rest: Object = {key: value for key, value in usage.items() if key not in _CHAT_NAMES.values()}
    return {
        **rest,
        "input_tokens": into,
        "output_tokens": out,
        "total_tokens": into + out if total is None else total,
        **{key: _details(usage.get(key), counters) for key, counters in _DETAILS.items()},
    }


def _counter(usage: Object, key: str) -> int | None:
    own = as_index(usage.get(key))
    return as_index(usage.get(_CHAT_NAMES[key])) if own is None else own


def _details(details: JSON, counters: tuple[str, ...]) -> Object:
    given = details if isinstance(details, dict) else {}
    return {**given, **{counter: as_index(given.get(counter)) or 0 for counter in counters}}
