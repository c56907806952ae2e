"""A run as one HTML page that needs nothing but a browser: for inside the agency, or releasable."""

from riskweighted.reports.render import render_report

__all__ = ["render_report"]
