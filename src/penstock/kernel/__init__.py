"""Runs operators over blocks of rows. Knows neither SQL nor Spark, no clock, no thread, no file."""
