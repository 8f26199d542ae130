"""Theories of consciousness: what an essay quotes, drawn with its sources, and what follows."""
