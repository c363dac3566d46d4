"""Why an attempt failed: answers, error objects and exceptions to a `Failure`."""
