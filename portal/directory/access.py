"""What the directory's calls about people share: who may act, on whom, and the line in the log."""

from __future__ import annotations

import datetime as dt
import logging

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from portal.changes import COMMAND_LINE, Actor
from portal.directory.names import check_email, check_name, check_role, email_key
from portal.directory.rows import FOR_CHANGE, get_row, identify
from portal.errors import LastAdministrator, OwnAccess
from portal.models import Organisation, Profile
from portal.scopes import require_administrator
from portal.transactions import after_commit
from portal.values import Role

logger = logging.getLogger(__name__)


def select_people() -> Select[Profile]:
    """Select people, each with the organisation."""
    return select(Profile).options(joinedload(Profile.organisation, innerjoin=True))


def new_profile(organisation_id: int, *, email: str, name: str, role: Role | str, at: dt.datetime) -> Profile:
    """Return an active person without a password, who is not in the database yet.

    :raises portal.errors.InvalidInput: the address, the name or the role cannot be accepted.
    """
    return Profile(
        organisation_id=organisation_id,
        email=check_email(email),
        email_key=email_key(email),
        name=check_name("name", name),
        role=check_role(role),
        active=True,
        created_at=at,
    )


def complete(session: Session, profile_id: int) -> Profile:
    """Return a person as they stand now, with the organisation."""
    session.flush()
    question = select_people().where(Profile.id == profile_id).execution_options(populate_existing=True)
    return session.scalars(question).one()


def lock_profile(session: Session, profile_id: int) -> Profile:
    """Lock a person, after their organisation: so no two of its administrators go at the same time.

    :raises portal.errors.InvalidInput: (``profile``) there is nobody any more.
    """
    organisation_id = get_row(session, Profile, profile_id).organisation_id
    get_row(session, Organisation, organisation_id, FOR_CHANGE)
    return get_row(session, Profile, profile_id, FOR_CHANGE)


def check_authority(session: Session, by: Profile | None, organisation_id: int) -> Actor:
    """Return who makes a change. The organisation has to be locked, so that they stay what they are.

    :param by: an administrator, or None for the command line, which may do everything.
    :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of this organisation.
    """
    if by is None:
        return COMMAND_LINE
    administrator = require_administrator(session, identify(by, Profile), organisation_id=organisation_id)
    return Actor.profile(administrator.id)


def check_not_oneself(profile: Profile, by: Profile | None) -> None:
    """Refuse what would take away, or get round, the access of whoever does it.

    :raises portal.errors.OwnAccess: ``by`` is this person.
    """
    if by is not None and by.id == profile.id:
        raise OwnAccess(profile.id)


def require_another_administrator(session: Session, profile: Profile) -> None:
    """Refuse if this is the last active administrator. The organisation has to be locked.

    :raises portal.errors.LastAdministrator: it is.
    """
    if not (profile.active and profile.is_administrator):
        return
    others = select(func.count()).where(
        Profile.organisation_id == profile.organisation_id,
        Profile.id != profile.id,
        Profile.role == Role.ADMINISTRATOR,
        Profile.active,
    )
    if session.scalar(others) == 0:
        raise LastAdministrator(profile.id)


def log_after_commit(session: Session, action: str, profile: Profile, actor: Actor) -> None:
    """Log a change of a person by ids, once it is certain. One that is rolled back leaves no line."""
    ids = {
        "action": action,
        "organisation_id": profile.organisation_id,
        "person_id": profile.id,
        "actor": actor.kind.value,
        "profile_id": actor.profile_id,
    }
    after_commit(session, lambda: logger.info("person changed", extra=ids))
