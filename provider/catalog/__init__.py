"""The catalog: known providers, their vendors, and what their models take."""
