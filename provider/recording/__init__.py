"""Answers in a file, read as the client reads one."""
