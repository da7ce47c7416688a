"""Payloads that something between a model and Codex could get wrong, by what is nasty about them.

A server without the bridge gives them back as the argument of a function. What it does not was left out: U+007F, which
the model leaves out, and `<|endoftext|>` and some ends of JSON (`x"}`, `text("a"})`), which one of this size miscopies.
"""

from __future__ import annotations

import json

PATCH = """\
*** Begin Patch
*** Update File: src/grüße.py
@@ def hello():
-    print("a\\tb")
+    print('c')
\x20
*** End Patch
"""

PAYLOADS = {
    "a script": 'text("hi");\n',
    "nothing": "",
    "one blank": " ",
    "blanks at both ends": "  \n\t text \t\n  ",
    "line breaks only": "\n\n\n",
    "CRLF": "a\r\nb\r\n",
    "CR": "a\rb\r",
    "tabs": "\tif x:\n\t\ty\t\n",
    "double quotes": 'say "hi" and ""',
    "backslashes": "C:\\new\\table \\\\ \\",
    "escapes as text": "\\u0041 \\n \\ud83d",
    "a regular expression": r's/^\s+(\d{2})\/"x"$/\1/g',
    "control characters": "a\x01b\x1bc\x1f",
    "NUL": "a\x00b",
    "backspace and feeds": "\x08\x0c\x0b",
    "C1 controls": "a\x85b\x9fc",
    "emoji": "😀👩‍👩‍👧 🇩🇪",
    "combining characters": "e\u0301 é n\u0303",
    "U+2028 and U+2029": "a\u2028b\u2029c",
    "a byte order mark": "\ufeffx\u200b",
    "right to left": "שלום \u202eabc",
    "noncharacters": "a\uffffb \U0010ffff",
    "a wrapper": '{"input": "x"}',
    "a wrapper in a wrapper": json.dumps({"input": json.dumps({"input": "x"})}),
    "half a wrapper": '{"input": "x',
    "JSON": '{"code": [1, {"a": null}]}\n',
    "a JSON string": '"x"',
    "the end of a wrapper": 'x"}\n',
    "a number": "42",
    "null": "null",
    "true": "true",
    "a call begins": "<tool_call>",
    "a call ends": "</tool_call>",
    "a call": '<tool_call>\n{"name": "exec", "arguments": {"input": "x"}}\n</tool_call>',
    "an end of turn": "a<|im_end|>b",
    "thoughts": "<think>no</think>x",
    "a parameter's tags": "<parameter=input>\nx\n</parameter>",
    "a code fence": "```js\ntext(1);\n```\n",
    "server-sent events": "data: [DONE]\n\nevent: x\n\n",
    "a patch": PATCH,
    "long": "".join(f"{number}: {number * number}\n" for number in range(9)),
}
