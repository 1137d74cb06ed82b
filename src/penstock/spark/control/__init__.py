"""What the driver tells a running pipeline, and learns of it."""
