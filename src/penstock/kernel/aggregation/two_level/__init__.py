"""Two-level aggregation: a table of fixed size in front of WID."""
