"""Published weights: their names, their files, how they enter a model."""
