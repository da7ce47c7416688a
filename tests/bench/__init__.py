"""Benchmarks: `uv run python -m tests.bench`. Ratios measured in one run; nothing here is a test."""
