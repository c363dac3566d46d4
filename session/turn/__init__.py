"""Our own loop: a session, its turns, and the conversation they add to."""
