"""Text to tokens and back: the three ways of the published models, and their files."""
