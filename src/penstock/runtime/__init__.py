"""What every host does: a graph of operators, fed, run and drained."""
