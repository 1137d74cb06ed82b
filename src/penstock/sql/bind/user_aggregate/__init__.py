"""Aggregates that are written in SQL."""
