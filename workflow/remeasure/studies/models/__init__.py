"""The models page: sizes, caches, positions and parity of every model of the model room."""
