"""What each provider says when something went wrong, as tables."""
