"""Algorithms to compare with; experiments alone build them."""
