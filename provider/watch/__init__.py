"""Judges the answers that the HTTP clients of SDKs get, as our own client does."""
