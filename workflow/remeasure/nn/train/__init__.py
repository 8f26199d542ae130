"""How networks learn."""
