"""A conversation shaped for the route that is to go on with it."""
