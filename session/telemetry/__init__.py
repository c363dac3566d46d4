"""What operators see of sidestep in their own tools: traces and metrics."""
