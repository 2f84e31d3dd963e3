"""What the papers found, on one's own model: claims, their rules, and a report with one card a claim.

The claims and the rules of their verdicts stand in claims.py; they were written down before they were run on a trained
model. A number is computed text by text from the public functions of bertlens, so that it has an interval.
"""

from .cards import Card
from .claims import CLAIMS, GROUPS, Claim
from .report_page import Report
from .report_run import report
from .report_view import ReportView
from .rules import CANNOT, DIFFERS, HOLDS, Measured, Rule, verdict

__all__ = [
    "CANNOT",
    "CLAIMS",
    "DIFFERS",
    "GROUPS",
    "HOLDS",
    "Card",
    "Claim",
    "Measured",
    "Report",
    "ReportView",
    "Rule",
    "report",
    "verdict",
]
