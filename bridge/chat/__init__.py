"""The chat dialect: function-only Responses ↔ Chat Completions. It knows nothing of what the tool bridge does."""
