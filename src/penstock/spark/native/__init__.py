"""Native lowering: whole queries as Spark SQL operators, with Penstock's promises as watermarks."""
