"""Rehearsed outages, and whether they came out as they should."""
