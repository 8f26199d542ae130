"""Walk-forward splits and backtests shared by studies."""
