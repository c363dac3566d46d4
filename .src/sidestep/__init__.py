"""A failing model provider never ends a coding agent's turn."""
