"""Operators that keep no windows: one file each."""
