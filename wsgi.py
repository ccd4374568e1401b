"""The portal as a WSGI application, ``wsgi:app``. Its settings are ``PORTAL_…`` variables."""

from __future__ import annotations

from portal.settings import Settings
from portal.web import create_app

app = create_app(Settings.from_environment())
