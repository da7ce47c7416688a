"""The tool bridge: what stands between a Responses client and a backend that admits function tools only."""
