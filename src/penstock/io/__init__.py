"""Rows that come from outside and results that go there, for every host."""
