"""One-time links: how somebody who has no password, or forgot it, gets to set one."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, and_, delete
from sqlalchemy.orm import Session

from portal.changes import Actor
from portal.directory.access import (
    check_authority,
    check_not_oneself,
    complete,
    lock_profile,
    log_after_commit,
    new_profile,
    select_people,
)
from portal.directory.rows import FOR_CHANGE, FOR_REFERENCE, Part, get_row, identify, names_taken
from portal.errors import InvalidInput, LinkNotValid
from portal.models import OneTimeLink, Organisation, Profile
from portal.passwords import check_password, hash_password
from portal.tokens import digest_of, end_ways_in, new_token
from portal.values import Role

INVITATION_LIFETIME = dt.timedelta(hours=72)
RESET_LIFETIME = dt.timedelta(hours=24)
"""For whoever has a password, which somebody else could be after."""

LINK_PATH = "/welcome/"
"""Where a link leads, with its token behind it."""


@dataclass(frozen=True)
class NewLink:
    """A one-time link that was just made. Nobody can ask for its token again.

    ``profile`` is whom it is for, ``expires_at`` is when it ends unused.
    """

    profile: Profile
    token: str = field(repr=False)
    expires_at: dt.datetime

    def address(self, public_url: str) -> str:
        """Return the whole address to hand over, on the portal at ``public_url``."""
        return f"{public_url.rstrip('/')}{LINK_PATH}{self.token}"


class Links(Part):
    """The directory's calls about one-time links."""

    def invite(
        self,
        organisation: Organisation,
        *,
        email: str,
        name: str,
        role: Role | str = Role.MEMBER,
        by: Profile | None = None,
    ) -> NewLink:
        """Create a person without a password, with a link that lets them set one within 72 hours.

        :param email: how the person will sign in: at most 254 characters, unique in the installation however
            it is capitalised.
        :param name: what others read: 1 to 200 code points on one line.
        :param role: ``"member"`` or ``"administrator"``.
        :param by: the administrator who invites; None is the command line.
        :raises portal.errors.InvalidInput: an argument cannot be accepted, or the organisation is gone.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        :raises portal.errors.NameTaken: (``email``) somebody in the installation has the address.
        """
        organisation_id = identify(organisation, Organisation)
        profile = new_profile(organisation_id, email=email, name=name, role=role, at=self._clock())

        def work(session: Session) -> NewLink:
            get_row(session, Organisation, organisation_id, FOR_REFERENCE)
            actor = check_authority(session, by, organisation_id)
            session.add(profile)
            session.flush()
            return self._give_link(session, profile, "person_invited", actor)

        with names_taken():
            return self._database.write(work)

    def make_link(self, profile: Profile, *, by: Profile | None = None) -> NewLink:
        """Give somebody a link with which they set a password; the one that they had ends.

        Until it is used nothing else changes: a password that they have is still good.

        :param by: the administrator who does it; None is the command line.
        :raises portal.errors.InvalidInput: (``profile``) there is nobody any more, or they are kept out.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        :raises portal.errors.OwnAccess: ``by`` is this person, who would need no current password then.
        """
        profile_id = identify(profile, Profile)

        def work(session: Session) -> NewLink:
            found = lock_profile(session, profile_id)
            actor = check_authority(session, by, found.organisation_id)
            check_not_oneself(found, by)
            return self._give_link(session, found, "person_link_made", actor)

        return self._database.write(work)

    def find_link(self, token: str) -> Profile | None:
        """Return who could set a password with this token now, or None. Looking uses nothing up."""
        question = select_people().join(*_LINK_OF_PROFILE).where(*self._is_good(token))
        found = self._database.read(lambda session: session.scalar(question))
        return found if found is not None and found.active and found.organisation.active else None

    def use_link(self, token: str, password: str) -> Profile:
        """Set a password by a link, which ends with that. Its person is signed out everywhere.

        :param password: 1 to 1,024 bytes.
        :returns: the person as they stand now; nobody is signed in.
        :raises portal.errors.InvalidInput: (``password``) it cannot be accepted; the link is still good.
        :raises portal.errors.LinkNotValid: the link was used, was replaced, has expired or never was, or its
            person is kept out.
        """
        check_password(password)
        # Nobody lets us hash without a link.
        owner = self.find_link(token)
        if owner is None:
            raise LinkNotValid
        password_hash = hash_password(password)

        def work(session: Session) -> Profile:
            question = select_people().where(Profile.id == owner.id, Profile.active)
            person = session.scalar(question.with_for_update(**FOR_CHANGE, of=Profile))
            # Of several uses at once only one deletes the row; and it is gone since they were kept out.
            if person is None or not self._take_link(session, token):
                raise LinkNotValid
            person.password_hash = password_hash
            end_ways_in(session, person)
            log_after_commit(session, "person_link_used", person, Actor.profile(person.id))
            return complete(session, person.id)

        return self._database.write(work)

    def _give_link(self, session: Session, profile: Profile, action: str, actor: Actor) -> NewLink:
        """Give a person the one link that they may have. They, or their organisation, are locked."""
        person = complete(session, profile.id)
        if not (person.active and person.organisation.active):
            raise InvalidInput("profile", "they or their organisation are kept out; let them in again first")
        token = new_token()
        lifetime = INVITATION_LIFETIME if person.password_hash is None else RESET_LIFETIME
        link = OneTimeLink(
            organisation_id=person.organisation_id,
            profile_id=person.id,
            token_digest=digest_of(token),
            expires_at=self._clock() + lifetime,
        )
        session.merge(link)
        log_after_commit(session, action, person, actor)
        return NewLink(profile=person, token=token, expires_at=link.expires_at)

    def _take_link(self, session: Session, token: str) -> bool:
        taken = session.execute(delete(OneTimeLink).where(*self._is_good(token)))
        return cast("CursorResult[Any]", taken).rowcount == 1

    def _is_good(self, token: str) -> tuple[ColumnElement[bool], ...]:
        return OneTimeLink.token_digest == digest_of(token), OneTimeLink.expires_at > self._clock()


_LINK_OF_PROFILE = (
    OneTimeLink,
    and_(Profile.organisation_id == OneTimeLink.organisation_id, Profile.id == OneTimeLink.profile_id),
)
