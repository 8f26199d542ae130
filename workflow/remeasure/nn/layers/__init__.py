"""The parts that networks are made of."""
