"""What the model does in longer sessions, step by step, and the files that it finds."""

from __future__ import annotations

import json
import re
import struct
import zlib
from typing import Any

from tests.e2e.model import Moment, Step
from tests.e2e.turns import Turn, calls, custom, function, says, script, shell

NASTY = 'grüße "quoted" \\back\\n \t 日本 😀 </parameter></tool_call> {"input": "x"} \u2028 ```'
"""A line that escaping, splitting and call syntax can each do harm to."""

THOUGHT = "First look, then act. 考える"


def png(red: int = 200) -> bytes:
    """A small image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, 30, 30)) * 32) * 32
    head = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


FILES = {"pixel.png": png(), "hello.txt": b"hello file\n"}


def adds(name: str, *lines: str) -> str:
    """A patch that adds a file."""
    return "\n".join(["*** Begin Patch", f"*** Add File: {name}", *(f"+{line}" for line in lines), "*** End Patch", ""])


def replaces(name: str, old: str, new: str) -> str:
    """A patch that replaces a line."""
    hunk = ["@@", f"-{old}", f"+{new}"]
    return "\n".join(["*** Begin Patch", f"*** Update File: {name}", *hunk, "*** End Patch", ""])


def in_script(tool: str, argument: Any, then: str = "text(r);") -> str:
    """A script that calls a tool and hands on what it returns."""
    return f"const r = await tools.{tool}({json.dumps(argument, ensure_ascii=False)});\n{then}\n"


def _waits(moment: Moment) -> Turn:
    """Waits for the cell that is still running, whose id stands in its first output."""
    cells = re.findall(r"cell ID `?(\w+)", "\n".join(moment.heard.outputs))
    return calls(function("wait", cell_id=cells[-1] if cells else "none", yield_time_ms=5000))


CODE_MODE: tuple[Step, ...] = (
    calls(
        script(in_script("exec_command", {"cmd": "echo hi; cat hello.txt"}, "text(r.output);")),
        message="Looking around.",
        reasoning=THOUGHT,
    ),
    calls(script(in_script("apply_patch", adds("a.txt", NASTY, "world"))), reasoning="Patch."),
    calls(script('const im = await tools.view_image({path: "pixel.png"});\nimage(im);\ntext("seen");\n')),
    calls(script('text("before"); throw new Error("boom");\n')),
    calls(script("const x = ;\n")),
    calls(
        script(
            '// @exec: {"yield_time_ms": 200}\n'
            'text("early"); await new Promise(r => setTimeout(r, 700)); text("late");\n'
        )
    ),
    _waits,
    calls(script('notify("a note"); text("after note");\n')),
    calls(script('text("")\n')),
    calls(script("const a = 1;\n")),
    calls(script('text("one")'), script('text("two")'), function("wait", cell_id="999")),
    calls(script(f"text({json.dumps(NASTY)}); text(String.raw`{NASTY.replace('`', '')}`);")),
    says("All done.", reasoning="Done."),
)

FUNCTIONS: tuple[Step, ...] = (
    calls(shell("cat hello.txt; echo err >&2"), message="I will look.", reasoning="Look first."),
    calls(custom("apply_patch", replaces("hello.txt", "hello file", NASTY))),
    calls(custom("apply_patch", replaces("nope.txt", "x", "y"))),
    calls(custom("apply_patch", "not a patch at all")),
    calls(
        shell("echo one"),
        custom("apply_patch", adds("beside.txt", "hello")),
        shell("echo two; exit 3"),
        reasoning="All at once.",
    ),
    calls(function("view_image", path="pixel.png")),
    calls(shell("sleep 1; echo slept", yield_time_ms=250)),
    calls(function("exec_command", command=["x"])),
    calls(function("update_plan", plan=[{"step": "a", "status": "pending"}])),
    calls(function("no_such_tool", command=["echo", "x"])),
    says("Done.", reasoning="That is all."),
)

PARALLEL: tuple[Step, ...] = (
    calls(
        shell("sleep 0.5; echo A"),
        shell("echo B"),
        custom("apply_patch", adds("p1.txt", "one")),
        custom("apply_patch", adds("p2.txt", NASTY)),
        reasoning="Four at once.",
    ),
    calls(shell("ls"), function("view_image", path="pixel.png"), message="Midway."),
    says("Done."),
)

MCP_FUNCTIONS: tuple[Step, ...] = (
    calls(function("mcp__small__echo", text=NASTY)),
    calls(function("mcp__small__picture")),
    calls(function("mcp__small__fail")),
    says("Done."),
)

TOOL_SEARCH: tuple[Step, ...] = (
    calls(function("tool_search", query="echo text", limit=3)),
    calls(function("mcp__small__echo", text=NASTY)),
    says("Done."),
)

AGENTS: tuple[Step, ...] = (
    calls(function("collaboration__spawn_agent", task_name="kid", message="Child task: say hi.", fork_turns="none")),
    calls(function("collaboration__wait_agent", timeout_ms=10_000)),
    calls(function("collaboration__list_agents")),
    says("Done."),
)
