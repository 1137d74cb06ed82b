"""Words that all layers share: types, schemas, expressions, timestamps, punctuation, streams."""
