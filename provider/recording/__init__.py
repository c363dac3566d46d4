"""Recorded answers in files, read like answers over the network."""
