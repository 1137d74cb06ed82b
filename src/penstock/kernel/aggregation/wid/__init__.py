"""WID: the window id as one more grouping key."""
