"""The client: one request and its reply, over httpx."""
