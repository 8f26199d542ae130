"""How accurate are Polymarket's prices? Calibration, skill, the volume trap, tails, costs."""
