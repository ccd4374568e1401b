"""What axe-core finds on a page, and what it cannot see: words cut off, and a page that scrolls sideways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

AXE = Path(__file__).parent / "vendor" / "axe-4.14.1.min.js"

# WCAG 2.0 to 2.2, levels A and AA, and best practices.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_run = "rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })"
_cut_off = """() => {
  const context = document.createElement("canvas").getContext("2d");
  const isCut = select => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(select);
    context.font = font;
    const room = select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    return [...select.options].some(option => context.measureText(option.text).width > room);
  };
  return [...document.querySelectorAll("select")].filter(isCut).map(select => select.id);
}"""
_overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


SCHEMES: Sequence[Literal["light", "dark"]] = ("light", "dark")


def faults(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands, in light and in dark, each fault with where it is."""
    # The page's policy refuses scripts from elsewhere, but not what the debugger evaluates.
    page.evaluate(AXE.read_text())
    found = [f"in {scheme}: {fault}" for scheme in SCHEMES for fault in _violations(page, scheme)]
    found += [f"words are cut off in {choice}" for choice in page.evaluate(_cut_off)]
    too_wide = page.evaluate(_overflow)
    return [*found, f"scrolls sideways by {too_wide} px"] if too_wide > 0 else found


def _violations(page: Page, scheme: Literal["light", "dark"]) -> Iterator[str]:
    page.emulate_media(color_scheme=scheme)
    found: dict[str, Any] = page.evaluate(_run, RULES)
    for violation in found["violations"]:
        for node in violation["nodes"]:
            yield f"{violation['id']}: {node['target']} {node['failureSummary']}"
