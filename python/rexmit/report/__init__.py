"""What a results folder shows: its figures, and one page that holds everything."""

from rexmit.report.figures import draw_figures
from rexmit.report.page import write_report

__all__ = ["draw_figures", "write_report"]
