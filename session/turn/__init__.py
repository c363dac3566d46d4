"""Our own loop: a session, its turns, and its conversation."""
