"""MATCH_RECOGNIZE: names, types and what cannot be run."""
