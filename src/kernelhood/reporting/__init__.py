"""A fitted model explained: as text, and as one page that needs nothing but itself."""

from kernelhood.reporting.contents import Inspection, inspect_model
from kernelhood.reporting.html import to_html
from kernelhood.reporting.text import to_text

__all__ = ["Inspection", "inspect_model", "to_html", "to_text"]
