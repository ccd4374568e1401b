"""The score of MDN's HTTP Observatory, worked out from its published table.

The table is `src/grader/charts.js` of https://github.com/mdn/mdn-http-observatory. Only those of its results
are here between which the portal's answers could move. Whether plain HTTP leads to HTTPS is up to the proxy
in front (`deploy/`), and counts nothing where it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from werkzeug.test import TestResponse

BASELINE = 100
MINIMUM_FOR_BONUSES = 90
SIX_MONTHS_S = 15_768_000
PRIVATE_REFERRERS = {"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
OWN = {"'none'", "'self'"}
UNSAFE = {"'unsafe-inline'", "data:", "https:", "*"}


@dataclass(frozen=True)
class Answer:
    """What the observatory looks at."""

    headers: Mapping[str, str]
    """By name in lower case."""
    cookies: Sequence[str]
    html: str

    @classmethod
    def of(cls, response: TestResponse) -> Answer:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return cls(headers, response.headers.getlist("Set-Cookie"), response.text)

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    def sources(self, directive: str) -> set[str] | None:
        """Return what the policy allows, by the directive or the one that stands in for it, None for all."""
        directives = map(str.split, self.header("content-security-policy").split(";"))
        policy = {words[0]: set(words[1:]) for words in directives if words}
        fallback = None if directive in {"form-action", "frame-ancestors"} else policy.get("default-src")
        return policy.get(directive, fallback)


def content_security_policy(answer: Answer) -> int:
    if "content-security-policy" not in answer.headers:
        return -25
    scripts, objects, styles = (answer.sources(f"{kind}-src") for kind in ("script", "object", "style"))
    if (
        scripts is None
        or objects is None
        or {"'unsafe-inline'", "data:", "https:", "*"} & (scripts | objects)
    ):
        return -20
    if "'unsafe-eval'" in scripts:
        return -10
    if styles is None or {"'unsafe-inline'", "data:", "https:", "*"} & styles:
        return 0
    is_closed = (
        answer.sources("default-src") == {"'none'"} and (answer.sources("form-action") or {"*"}) <= OWN
    )
    return 10 if is_closed else 5


def cookies(answer: Answer) -> int:
    attributes = [{each.strip().lower() for each in cookie.split(";")[1:]} for cookie in answer.cookies]
    if any("secure" not in each for each in attributes):
        return -40
    if any("httponly" not in each for each in attributes):
        return -30
    are_bound = all(each & {"samesite=lax", "samesite=strict"} for each in attributes)
    return 5 if attributes and are_bound else 0


def cross_origin_resource_sharing(answer: Answer) -> int:
    return -50 if "access-control-allow-origin" in answer.headers else 0


def cross_origin_resource_policy(answer: Answer) -> int:
    return 10 if answer.header("cross-origin-resource-policy") in {"same-origin", "same-site"} else 0


def referrer_policy(answer: Answer) -> int:
    if not answer.header("referrer-policy"):
        return 0
    return 5 if answer.header("referrer-policy") in PRIVATE_REFERRERS else -5


def strict_transport_security(answer: Answer) -> int:
    max_age = re.search(r"max-age=(\d+)", answer.header("strict-transport-security"))
    if max_age is None:
        return -20
    return 0 if int(max_age[1]) >= SIX_MONTHS_S else -10


def subresource_integrity(answer: Answer) -> int:
    scripts = re.findall(r'<script\b[^>]*\bsrc="([^"]*)"', answer.html)
    return 0 if all(re.match(r"/(?!/)", source) for source in scripts) else -50


def x_content_type_options(answer: Answer) -> int:
    return 0 if answer.header("x-content-type-options") == "nosniff" else -5


def x_frame_options(answer: Answer) -> int:
    return 5 if (answer.sources("frame-ancestors") or {"*"}) <= OWN else -20


TESTS: Sequence[Callable[[Answer], int]] = (
    content_security_policy,
    cookies,
    cross_origin_resource_sharing,
    cross_origin_resource_policy,
    referrer_policy,
    strict_transport_security,
    subresource_integrity,
    x_content_type_options,
    x_frame_options,
)


def score(answer: Answer) -> int:
    """Take off what is missing, and add what is better than needed where little is missing."""
    modifiers = [test(answer) for test in TESTS]
    without_bonuses = BASELINE + sum(modifier for modifier in modifiers if modifier < 0)
    if without_bonuses < MINIMUM_FOR_BONUSES:
        return max(without_bonuses, 0)
    return without_bonuses + sum(modifier for modifier in modifiers if modifier > 0)
