"""The chat dialect: function-only Responses ↔ Chat Completions. It knows nothing of lowered custom tools."""
