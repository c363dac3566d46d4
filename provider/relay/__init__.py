"""A client's own request, sent as it is; its answer is judged as our own client judges answers."""
