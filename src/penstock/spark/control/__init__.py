"""What the driver tells a running pipeline, and hears of it."""
