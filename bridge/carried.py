"""What a backend must get back in the next turn, carried in the `encrypted_content` of a reasoning item.

Codex replays `encrypted_content` as it is and drops most else: `reasoning.content` comes back as null beside it, and
unknown fields of a call are lost (0.154 to 0.171). A bridge without a memory can keep something nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.blob import seal, unseal
from bridge.jsonvalue import JSON, Object, as_object, as_text, dump, parse


@dataclass(frozen=True)
class Carried:
    """The reasoning text, the provider's own `reasoning_details`, and `extra_content` by call_id."""

    text: str = ""
    details: tuple[JSON, ...] = ()
    extras: Object = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to carry."""
        return bool(self.text or self.details or self.extras)

    def pack(self) -> str:
        """→ `encrypted_content`."""
        content: Object = {"text": self.text}
        if self.details:
            content["details"] = list(self.details)
        if self.extras:
            content["extras"] = self.extras
        return seal(dump(content))

    @classmethod
    def unpack(cls, blob: str) -> Carried | None:
        """`encrypted_content` → what it carries; None for one that is not ours."""
        sealed = unseal(blob)
        if sealed is None:
            return None
        try:
            content = as_object(parse(sealed))
        except ValueError:
            return None
        details = content.get("details")
        kept = tuple(details) if isinstance(details, list) else ()
        return cls(as_text(content.get("text")), kept, as_object(content.get("extras")))
