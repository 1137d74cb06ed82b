"""Panes: rows are aggregated once, and windows put together from them."""
