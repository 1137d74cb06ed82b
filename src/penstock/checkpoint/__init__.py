"""What lies in a checkpoint, where, and in which format."""
