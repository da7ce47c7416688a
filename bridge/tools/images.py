"""Images in messages and tool outputs, by `bridge_images`."""

from __future__ import annotations

from bridge.jsonvalue import JSON, Object, as_object
from bridge.ledger import Ledger, Rule
from bridge.settings import Images

IMAGE, FILE = "input_image", "input_file"


def lower_message_images(content: JSON, path: str, mode: Images, ledger: Ledger) -> JSON:
    """The parts of a user's message: images stay, but for `none`."""
    if not isinstance(content, list) or not _holds_image(content):
        return content
    if mode is not Images.NONE:
        return [_detailed(part) for part in content]
    ledger.add(Rule.IMAGES, "replaced by text", path, warning="an image was left out (bridge_images=inline keeps it)")
    return [_placeholder() if _is_image(part) else part for part in content]


def lower_output_images(output: JSON, path: str, mode: Images, ledger: Ledger) -> tuple[JSON, list[JSON]]:
    """The parts of a tool output → the parts that stay, and the images that go behind the outputs."""
    movable = mode is Images.USER and isinstance(output, list) and any(map(_is_movable, output))
    if not isinstance(output, list) or not (_holds_image(output) or movable):
        return output, []
    if mode is Images.INLINE:
        return [_detailed(part) for part in output], []
    if mode is Images.USER:
        ledger.add(Rule.IMAGES, "moved behind the outputs", path)
        moved = [_detailed(part) for part in output if _is_movable(part)]
        return [_moved(part) if _is_movable(part) else part for part in output], moved
    warning = "an image in a tool output was replaced by a text (bridge_images=user or inline keeps it)"
    ledger.add(Rule.IMAGES, "replaced by text", path, warning=warning)
    return [_placeholder() if _is_image(part) else part for part in output], []


def _is_image(part: JSON) -> bool:
    return as_object(part).get("type") == IMAGE


def _holds_image(parts: list[JSON]) -> bool:
    return any(_is_image(part) for part in parts)


def _detailed(part: JSON) -> JSON:
    """vLLM 0.32 answers 400 to an image in an output that has no `detail`."""
    if isinstance(part, dict) and _is_image(part) and part.get("detail") is None:
        return {**part, "detail": "auto"}
    return part


def _placeholder() -> Object:
    return {"type": "input_text", "text": "[image left out]"}


def _is_movable(part: JSON) -> bool:
    """A file that an output holds beside its images goes with them."""
    return as_object(part).get("type") in (IMAGE, FILE)


def _moved(part: JSON) -> Object:
    kind = "image" if _is_image(part) else "file"
    return {"type": "input_text", "text": f"[{kind}: see the next user message]"}
