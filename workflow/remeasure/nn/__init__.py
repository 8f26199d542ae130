"""Networks from scratch: layers, models, checkpoints."""
