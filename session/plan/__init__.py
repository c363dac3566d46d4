"""Where a step may go: every way of saying it, and the one form they come to."""
