"""Judge requests as the real APIs do, with one small rule for each refusal."""
