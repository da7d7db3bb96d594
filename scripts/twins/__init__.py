"""The same scenario on two backends, and what differs."""
