"""What attempts cost, and what may be spent."""
