"""The drawing room: figure style, saving, alternative texts."""
