"""Facts: the errors of each provider, as tables."""
