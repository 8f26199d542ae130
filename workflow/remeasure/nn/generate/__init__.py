"""Text out of language models."""
