"""Scrubbing: bodies → bodies of the same shape that hold nothing of whoever made them."""
