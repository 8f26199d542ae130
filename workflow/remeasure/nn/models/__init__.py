"""One readable file a model, every shape in a comment."""
