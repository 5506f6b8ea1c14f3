"""Case files: read, answered fast, rewritten and made."""
