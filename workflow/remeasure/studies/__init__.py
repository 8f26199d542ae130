"""One folder a study; no study imports another."""
