"""Handover: a conversation shaped for the route that continues it."""
