"""A model's answer in each wire."""
