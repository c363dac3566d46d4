"""The four wires: what each is asked with, and what its stream means."""
