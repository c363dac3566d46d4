"""FactTable: the errors of each provider, as tables."""
