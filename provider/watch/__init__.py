"""The clients of other libraries, with their answers judged as our own client judges them."""
