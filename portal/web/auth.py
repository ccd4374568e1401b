"""Who is signed in, and signing in and out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ClassVar, ParamSpec, TypeVar, cast

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    flash,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_login import LoginManager, current_user

from portal.models import Profile
from portal.sign_in import SignedIn
from portal.web.addresses import POLLED_ENDPOINTS, SAFE_METHODS, own_destination, page_to_return_to
from portal.web.forms import SignInForm
from portal.web.fragments import lead_to, wants_fragment
from portal.web.services import services

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

# Flask-Login asks for the user behind this name in the cookie. Ours is a session's token, not a profile's id.
TOKEN = "_user_id"  # noqa: S105 - the name under which the cookie holds it

auth = Blueprint("auth", __name__)


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in, as Flask-Login wants to have it."""

    signed_in: SignedIn
    is_authenticated: ClassVar[bool] = True


class SessionLoginManager(LoginManager):  # type: ignore[misc]  # Flask-Login has no types.
    """Flask-Login without its "remember me" cookie, which is neither read nor written.

    Reading it let a malformed cookie turn every page into an error.
    """

    def _load_user_from_remember_cookie(self, _cookie: str) -> None:
        return None

    def _update_remember_cookie(self, response: Response) -> Response:
        return response


def init_app(app: Flask) -> None:
    """Let the application know who is signed in."""
    manager = SessionLoginManager()
    # It would bind the session to the browser's name, and write a digest of that into the cookie.
    manager.session_protection = None
    manager.user_loader(load_visitor)
    manager.unauthorized_handler(ask_to_sign_in)
    # Error pages must not ask the database who is signed in, so templates call `signed_in_profile`.
    manager.init_app(app, add_context_processor=False)
    app.jinja_env.globals["signed_in_profile"] = signed_in_profile
    app.register_blueprint(auth)


def load_visitor(token: str) -> Visitor | None:
    """Return who holds the token in the cookie."""
    signed_in = services().sign_in.find_signed_in(token)
    if signed_in is None:
        return None
    # What a page asks by itself is no sign that somebody is there.
    if request.endpoint not in POLLED_ENDPOINTS:
        services().sign_in.note_seen(signed_in)
    return Visitor(signed_in)


def signed_in_profile() -> Profile | None:
    """Return who is signed in, or None."""
    return cast("Profile", current_user.signed_in.profile) if current_user.is_authenticated else None


def me() -> Profile:
    """Return who is signed in, in a view that nobody else reaches."""
    return cast("Profile", current_user.signed_in.profile)


def administrators_only(view: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Hide a view from members, who get the same 404 as for a page that does not exist."""

    @wraps(view)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        if not me().is_administrator:
            abort(404)
        return view(*args, **kwargs)

    return guarded


def ask_to_sign_in() -> ResponseReturnValue:
    """Send somebody who is not signed in to do that, and then back."""
    if request.method not in SAFE_METHODS and request.endpoint != "auth.sign_out":
        flash("You were signed out, so nothing was saved. Sign in and try again.", "warn")
    address = url_for("auth.sign_in_page", next=page_to_return_to())
    return lead_to(address, 401) if wants_fragment() else redirect(address)


@auth.get("/")
def home() -> ResponseReturnValue:
    profile = signed_in_profile()
    if profile is None:
        return redirect(url_for("auth.sign_in_page"))
    return redirect(url_for("administrators.index" if profile.is_administrator else "owners.index"))


@auth.get("/sign-in")
def sign_in_page() -> ResponseReturnValue:
    return show_sign_in(SignInForm(destination=request.args.get("next", "")))


@auth.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    form = SignInForm.from_request()
    answer = services().sign_in.sign_in(form.email, form.password, request.remote_addr or "")
    if isinstance(answer, SignedIn):
        begin_session(answer.token)
        return redirect(own_destination(form.destination) or url_for("auth.home"), 303)
    if answer.retry_after_seconds is None:
        return show_sign_in(form, problem="The e-mail address or the password is wrong."), 422
    page = show_sign_in(form, problem=say_how_long(answer.retry_after_seconds))
    return page, 429, {"Retry-After": str(answer.retry_after_seconds)}


@auth.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    services().sign_in.sign_out(session[TOKEN])
    session.clear()
    flash("You are signed out.", "ok")
    answer = redirect(url_for("auth.sign_in_page"), 303)
    answer.headers["Clear-Site-Data"] = '"cache", "storage"'
    return answer


def say_how_long(seconds: int) -> str:
    """Say for how long no password is looked at."""
    minutes = -(-seconds // 60)
    wait = "a minute" if minutes == 1 else f"{minutes} minutes"
    return f"That was tried too often. Wait {wait}, then try again."


def begin_session(token: str) -> None:
    """Put a new token into the cookie, and keep nothing that was there, such as the CSRF seed."""
    former = session.get(TOKEN)
    if former is not None:
        services().sign_in.sign_out(former)
    session.clear()
    session[TOKEN] = token


def show_sign_in(form: SignInForm, problem: str = "") -> str:
    """Return the sign-in page. The password is never in it, nor a destination that is not ours."""
    destination = own_destination(form.destination) or ""
    return render_template("sign_in.html", email=form.email, destination=destination, problem=problem)
