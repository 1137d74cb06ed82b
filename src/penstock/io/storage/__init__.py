"""Files that must be whole, and places that must have one writer."""
