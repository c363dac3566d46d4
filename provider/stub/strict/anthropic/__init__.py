"""What Anthropic Messages refuses."""
