"""OpenAI Chat Completions and its dialects."""
