"""How the portal looks and works for whoever is signed in."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, url_for
from flask.typing import ResponseReturnValue

from portal.errors import InvalidInput
from portal.web.addresses import own_destination
from portal.web.auth import me
from portal.web.forms import at_most_one
from portal.web.services import services

SWITCH = {"on": True, "off": False}

preferences = Blueprint("preferences", __name__)


@preferences.post("/preferences")
def save() -> ResponseReturnValue:
    theme, shortcuts = at_most_one("theme"), at_most_one("shortcuts")
    if shortcuts not in {None, *SWITCH}:
        abort(400)
    try:
        services().directory.set_preferences(
            me(), theme=theme, keyboard_shortcuts=None if shortcuts is None else SWITCH[shortcuts]
        )
    except InvalidInput:
        abort(400)
    return redirect(own_destination(at_most_one("next")) or url_for("auth.home"), 303)
