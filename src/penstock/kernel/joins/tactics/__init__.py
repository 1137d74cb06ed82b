"""Tactics of a window join: when rows meet, and when results leave."""
