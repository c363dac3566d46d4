"""Where a conversation is kept."""
