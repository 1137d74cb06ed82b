"""Aggregate queries."""
