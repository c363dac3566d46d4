"""The proofs that the stub signs its answers with."""
