"""Traces of links: what they are, and generators of some."""

from rexmit.links.make import MAKERS
from rexmit.links.trace import Bins, Trace, open_trace

__all__ = ["MAKERS", "Bins", "Trace", "open_trace"]
