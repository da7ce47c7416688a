"""The first place where two JSON values differ."""

from __future__ import annotations

from bridge.jsonvalue import JSON


def first_difference(old: JSON, new: JSON, path: str = "") -> str | None:
    """The path of the first difference (`tools[3].function.name`), in the order of the old value; None if equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{path}.{key}" if path else key
            if key not in old or key not in new:
                return here
            if found := first_difference(old[key], new[key], here):
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            if found := first_difference(one, other, f"{path}[{index}]"):
                return found
        return None if len(old) == len(new) else f"{path}[{min(len(old), len(new))}]"
    return None if type(old) is type(new) and old == new else path or "(whole)"
