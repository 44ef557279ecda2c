"""A report on a learned distance: one HTML page that needs nothing but a browser."""

from gramian.report.writing import write_report

__all__ = ["write_report"]
