"""One step: attempt, then wait, repair, swap or give up."""
