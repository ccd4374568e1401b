"""Whether the portal can work, for whatever watches it."""

from __future__ import annotations

from flask import Blueprint, Response
from sqlalchemy import select

from portal.models import Organisation
from portal.web.services import db

health = Blueprint("health", __name__)


@health.get("/healthz")
def healthz() -> Response:
    # A table of ours: SQLite makes an empty file where there is none, and that would answer to less.
    db.session.scalar(select(Organisation.id).limit(1))
    return Response("ok", mimetype="text/plain")
