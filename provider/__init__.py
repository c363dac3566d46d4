"""What goes over the wire, and what came back."""
