"""Rewrites of plans, one a file."""
