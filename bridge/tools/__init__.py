"""The tool bridge: Responses → function-only Responses, and the exact way back."""
