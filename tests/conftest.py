"""Hypothesis: no deadlines, since machines differ; in CI the same examples; `HYPOTHESIS_PROFILE=long` for more."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("here", deadline=None, stateful_step_count=10)
settings.register_profile("ci", deadline=None, derandomize=True, stateful_step_count=10)
settings.register_profile("long", deadline=None, max_examples=5_000, stateful_step_count=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "here"))
