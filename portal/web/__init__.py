"""The portal: what people see and decide in a browser. Everything that imports Flask is in here."""

from __future__ import annotations

from flask import Flask
from jinja2 import BytecodeCache, StrictUndefined
from werkzeug.middleware.proxy_fix import ProxyFix

from portal import logs
from portal.database import Database
from portal.settings import Settings
from portal.values import Clock, utc_now
from portal.web import assets, auth, errors, filters, fragments, guard, headers, metrics, request_log
from portal.web.accounts import accounts
from portal.web.addresses import DefinitionConverter, IdConverter, TokenConverter, path_of
from portal.web.administrators import administrators
from portal.web.exports import exports
from portal.web.health import health
from portal.web.inlining import InlineExtension
from portal.web.owners import owners
from portal.web.people import people
from portal.web.preferences import preferences
from portal.web.services import EXTENSION, Services, db
from portal.web.template_code import PageEnvironment


def create_app(
    settings: Settings, *, clock: Clock = utc_now, compiled_templates: BytecodeCache | None = None
) -> Flask:
    """Return the portal as a WSGI application.

    Nothing is connected until the first request that needs the database.

    :param clock: gives the time now, aware and in UTC.
    :param compiled_templates: keeps them from one application to the next, where several are made.
    """
    app = Flask(
        __name__,
        template_folder=str(assets.resource_dir("templates")),
        static_folder=str(assets.resource_dir("static")),
        static_url_path="/static",
    )
    database = Database(settings.database_url)
    app.extensions[EXTENSION] = Services.over(database, settings, clock)
    _configure(app, settings, database)
    _set_up_templates(app, compiled_templates)
    _set_up_addresses(app)
    # The log comes first, so that what the guard refuses is in it too.
    for part in (request_log, assets, guard, auth, errors, filters, fragments, headers, metrics):
        part.init_app(app)
    for blueprint in (health, owners, exports, administrators, people, accounts, preferences):
        app.register_blueprint(blueprint)
    return app


def create_app_from_environment() -> Flask:
    """Return the portal with the settings of this process's environment, and let the process log.

    :raises portal.errors.InvalidInput: a setting cannot be accepted.
    """
    settings = Settings.from_environment()
    logs.set_up(settings.log_level)
    return create_app(settings)


def _configure(app: Flask, settings: Settings, database: Database) -> None:
    app.config.update(
        SECRET_KEY=settings.secret_key,
        SECRET_KEY_FALLBACKS=list(settings.secret_key_fallbacks),
        # A browser takes a cookie of the first name only over HTTPS, and only from this very host.
        SESSION_COOKIE_NAME="__Host-session" if settings.is_https else "portal_session",
        SESSION_COOKIE_SECURE=settings.is_https,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SQLALCHEMY_DATABASE_URI=database.url,
    )
    db.init_app(app)
    if settings.proxy_hops:
        hops = settings.proxy_hops
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]


def _set_up_templates(app: Flask, compiled: BytecodeCache | None) -> None:
    app.jinja_environment = PageEnvironment
    app.jinja_options = {
        # By default the ending of a template's name decides.
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "extensions": [InlineExtension],
        "bytecode_cache": compiled,
    }


def _set_up_addresses(app: Flask) -> None:
    app.url_map.converters["definition"] = DefinitionConverter
    app.url_map.converters["memory_id"] = app.url_map.converters["profile_id"] = IdConverter
    app.url_map.converters["token"] = TokenConverter
    app.jinja_env.globals["url_for"] = path_of
    # Werkzeug corrects an address by a redirect that names the host of the request.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
