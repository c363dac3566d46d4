"""The provider side: requests over the wire, and what comes back."""
