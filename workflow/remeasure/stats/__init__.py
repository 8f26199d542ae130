"""Estimators shared by studies."""
