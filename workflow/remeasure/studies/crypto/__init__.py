"""Machine learning, language models and crypto trading."""
