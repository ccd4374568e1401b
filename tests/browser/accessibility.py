"""What axe-core finds on a page, and what it cannot see: a page that scrolls sideways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parent / "vendor" / "axe-4.14.1.min.js"

# WCAG 2.0 to 2.2, levels A and AA, and best practices.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_run = "rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })"
_overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def faults(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands, each fault with where it is."""
    # The page's policy refuses scripts from elsewhere, but not what the debugger evaluates.
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(_run, RULES)
    named = [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    too_wide = page.evaluate(_overflow)
    return [*named, f"scrolls sideways by {too_wide} px"] if too_wide > 0 else named
