"""What operators see of sidestep in the tools that they have."""
