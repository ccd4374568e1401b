"""The portal as a WSGI application, ``wsgi:app``. Its settings are ``PORTAL_…`` variables."""

from __future__ import annotations

from portal.web import create_app_from_environment

app = create_app_from_environment()
