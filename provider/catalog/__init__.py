"""The providers we know: where they are, whose API it is, what a model takes."""
