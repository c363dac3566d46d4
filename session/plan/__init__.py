"""Where a step may go: reads every form of configuration into one `Plan`."""
