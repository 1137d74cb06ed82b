"""From text to statements: grammar only."""
