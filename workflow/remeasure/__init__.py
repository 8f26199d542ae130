"""remeasure: measures published numbers again and says of each whether it holds."""

__version__ = "0.1.0"
