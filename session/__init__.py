"""What to do after a failed attempt, and the loop that does it."""
