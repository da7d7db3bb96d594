"""The captures that our model did not make, their truth, and other programs on the same captures."""
