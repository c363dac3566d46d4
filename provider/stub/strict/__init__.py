"""What the real APIs refuse, one small rule each."""
