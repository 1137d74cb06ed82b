"""What operators cost."""
