"""Sources, for every host: a file per format; `registry` finds them by name."""
