"""A server on loopback that plays the providers, and their outages."""
