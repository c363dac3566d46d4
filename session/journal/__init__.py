"""The record of every attempt, wait and swap, as a file."""
