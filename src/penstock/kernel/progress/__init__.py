"""How operators and streams know how far time has come."""
