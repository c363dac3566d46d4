"""One request, one answer, over httpx."""
