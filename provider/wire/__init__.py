"""The four wires: how a request is encoded, and how a stream is decoded."""
