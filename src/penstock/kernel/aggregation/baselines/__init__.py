"""Algorithms to compare with."""
