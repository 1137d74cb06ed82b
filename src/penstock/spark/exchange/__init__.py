"""Rows on their way to their partition group."""
