"""From statements to plans: names, types, windows."""
