"""A backend's answer → the same answer scrubbed, in frames and pieces that correspond to those that came."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import accumulate, pairwise

from bridge import sse
from bridge.jsonvalue import JSON, Object, as_object, as_objects, as_text, dump, dump_bytes, parse, without
from bridge.scrub.text import fill_json
from bridge.scrub.values import Scrubber


class Kind(Enum):
    """What a text is."""

    PROSE = "prose"
    PAYLOAD = "payload"
    ARGUMENTS = "arguments"


type Channel = tuple[Kind, *tuple[JSON, ...]]
"""Which text a fragment belongs to."""

type Slot = tuple[Channel, Object, str]
"""A fragment: its channel, the object that holds it, and its key there."""

_WHERE = ("type", "item_id", "output_index", "content_index", "summary_index")


def scrub_answer(
    body: bytes, sizes: Sequence[int], scrubber: Scrubber, *, streamed: bool | None = None
) -> tuple[bytes, list[int]]:
    """(answer, sizes of its pieces) → the same, scrubbed; a piece that ended with a frame still does.

    `streamed`: whether the answer was taken for a stream; if that is not known, its beginning tells.
    """
    if not (sse.looks_like_sse(body) if streamed is None else streamed):
        scrubbed = _scrub_whole(body, scrubber)
        return scrubbed, _moved(sizes, [len(body)], [len(scrubbed)])
    frames = sse.frames_of(body)
    scrubbed_frames = _scrub_frames(frames, scrubber)
    lengths = [len(frame.raw) for frame in frames]
    return b"".join(scrubbed_frames), _moved(sizes, lengths, list(map(len, scrubbed_frames)))


def _scrub_whole(body: bytes, scrubber: Scrubber) -> bytes:
    try:
        return dump_bytes(scrubber.body(parse(body)))
    except ValueError:
        return scrubber.text(body.decode("utf-8", "replace"), is_payload=False).encode()


def _scrub_frames(frames: list[sse.Frame], scrubber: Scrubber) -> list[bytes]:
    """Fragments of one text are scrubbed as the text that they add up to, and cut again where they were cut."""
    texts: dict[Channel, list[str]] = defaultdict(list)
    for frame in frames:
        for channel, holder, key in _slots(frame.event or {}):
            texts[channel].append(as_text(holder[key]))
    fragments = {channel: _scrub_fragments(channel[0], pieces, scrubber) for channel, pieces in texts.items()}
    return [_scrub_frame(frame, fragments, scrubber) for frame in frames]


def _scrub_fragments(kind: Kind, pieces: list[str], scrubber: Scrubber) -> Iterator[str]:
    """Fragments of one text → the same, one after the other."""
    text = _scrub_text(kind, "".join(pieces), scrubber)
    ends = accumulate(map(len, pieces), initial=0)
    return iter([text[start:end] for start, end in pairwise(ends)])


def _scrub_frame(frame: sse.Frame, fragments: dict[Channel, Iterator[str]], scrubber: Scrubber) -> bytes:
    """`fragments`: those of each text that are still to come."""
    if frame.event is None:
        return _scrub_oddity(frame, scrubber)
    event = copy.deepcopy(frame.event)
    own: list[str] = []
    for channel, holder, key in _slots(event):
        own.append(next(fragments[channel]))
        holder[key] = ""
    event = as_object(scrubber.body(event))
    for (_, holder, key), fragment in zip(_slots(event), own, strict=True):
        holder[key] = fragment
    if frame.untyped:
        return b"event: %b\ndata: %b\n\n" % (as_text(event["type"]).encode(), dump_bytes(without(event, "type")))
    return sse.encode(event, named=frame.named)


def _scrub_oddity(frame: sse.Frame, scrubber: Scrubber) -> bytes:
    """A frame without an event: a comment, the end mark, or what is no JSON."""
    if frame.data is None:
        return frame.raw if not frame.raw.strip() else b"data: \xff\n\n" if frame.has_data else b":\n\n"
    if frame.data.strip() in ("", sse.END_MARK):
        return f"data: {frame.data.strip()}\n\n".encode()
    lines = fill_json(frame.data, scrubber.name).splitlines()
    return "".join(f"data: {line}\n" for line in lines).encode() + b"\n"


def _slots(event: Object) -> Iterator[Slot]:
    """The fragments in an event, on either wire."""
    if isinstance(event.get("delta"), str):
        kind = _kind(as_text(event.get("type")))
        yield (kind, *(dump(event.get(key)) for key in _WHERE)), event, "delta"
    for choice in as_objects(event.get("choices")):
        for channel, holder, key in _chat_slots(as_object(choice.get("delta"))):
            if isinstance(holder.get(key), str):
                yield (*channel, dump(choice.get("index"))), holder, key


def _chat_slots(delta: Object) -> Iterator[Slot]:
    """Where a chat delta can hold fragments: in any text of its own, and in those of its calls and details."""
    for key in delta:
        if key != "role":
            yield (Kind.PROSE, key), delta, key
    for index, detail in enumerate(as_objects(delta.get("reasoning_details"))):
        yield (Kind.PROSE, "details", dump(detail.get("index", index))), detail, "text"
    yield (Kind.ARGUMENTS, "function"), as_object(delta.get("function_call")), "arguments"
    for index, call in enumerate(as_objects(delta.get("tool_calls"))):
        place = dump(call.get("index", index))
        yield (Kind.ARGUMENTS, place), as_object(call.get("function")), "arguments"
        yield (Kind.PAYLOAD, place), as_object(call.get("custom")), "input"


def _kind(event_type: str) -> Kind:
    if "arguments" in event_type:
        return Kind.ARGUMENTS
    return Kind.PAYLOAD if "tool_call_input" in event_type else Kind.PROSE


def _scrub_text(kind: Kind, text: str, scrubber: Scrubber) -> str:
    if kind is Kind.ARGUMENTS:
        return scrubber.arguments(text)
    return scrubber.text(text, is_payload=kind is Kind.PAYLOAD)


def _moved(sizes: Sequence[int], old: list[int], new: list[int]) -> list[int]:
    """Sizes of pieces of frames of the `old` lengths → sizes of pieces of frames of the `new` ones."""
    starts, moved = list(accumulate(old, initial=0)), list(accumulate(new, initial=0))
    ends, number = [0], 0
    for end in accumulate(sizes):
        while number < len(old) and starts[number + 1] <= end:
            number += 1
        inside = end - starts[number]
        ends.append(min(moved[number] + inside, moved[min(number + 1, len(new))]))
    return [after - before for before, after in pairwise(ends)]
