"""Joins of several inputs: their shape."""
