"""What OpenAI Responses refuses."""
