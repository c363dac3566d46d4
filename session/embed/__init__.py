"""What goes under, or into, other people's SDKs, frameworks and tests."""
