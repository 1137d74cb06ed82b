"""Joins: conditions, bands, tables."""
