"""The free energy principle: its formulas computed, its evidence as quoted."""
