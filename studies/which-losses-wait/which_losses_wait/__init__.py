"""Which losses wait for a timer, on everybody's stacks: a study of our own, with no published numbers."""
