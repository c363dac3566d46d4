"""Classification: from responses, error objects and exceptions to a `Failure`."""
