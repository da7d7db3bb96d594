"""The figures of asymmetric-today: a study of our own, with no published numbers."""
