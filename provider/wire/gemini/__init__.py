"""Gemini's ``streamGenerateContent``."""
