"""A model's answer, written in each wire."""
