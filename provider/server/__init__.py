"""HTTP on this machine, as the stub and `sidestep serve` speak it."""
