"""What administrators see of the people in their organisation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from portal.directory.access import select_people
from portal.directory.rows import Part, identify
from portal.models import OneTimeLink, Organisation, Profile
from portal.pages import Page, Question, check_limit, cut_page
from portal.values import is_id


class Standing(StrEnum):
    """Whether somebody can sign in."""

    ACTIVE = "active"
    INVITED = "invited"
    """There is no password yet, and a link with which to set one."""
    WITHOUT_PASSWORD = "without a password"  # noqa: S105 - it says that there is none
    DEACTIVATED = "deactivated"


@dataclass(frozen=True)
class Person:
    """Somebody in an organisation.

    ``link_expires_at`` says until when their one-time link is good, None where they have none.
    """

    profile: Profile
    link_expires_at: dt.datetime | None

    @property
    def standing(self) -> Standing:
        """Whether they can sign in."""
        if not self.profile.active:
            return Standing.DEACTIVATED
        if self.profile.password_hash is not None:
            return Standing.ACTIVE
        return Standing.INVITED if self.link_expires_at else Standing.WITHOUT_PASSWORD


class People(Part):
    """The directory's calls that show people with what they need to get in."""

    def find_people(
        self,
        organisation: Organisation,
        *,
        search: str = "",
        limit: int | None = None,
        after: str | None = None,
    ) -> Page[Person]:
        """Return people of an organisation, active or not, by address.

        :param search: a literal substring of name or address, however it is capitalised.
        :param limit: how many at most, up to 10,000; None for everybody.
        :param after: the cursor of the page before. One that does not decode, or is of somebody who is gone,
            means page one.
        :raises portal.errors.InvalidInput: (``limit``) it is out of range.
        """
        organisation_id, limit = identify(organisation, Organisation), check_limit(limit)
        question = Question("people", (organisation_id, search), (int,))
        position = question.position(after, limit=limit)

        def work(session: Session) -> Page[Person]:
            ids = _find_ids(session, organisation_id, search.casefold())
            begin = ids.index(position[0]) + 1 if position is not None and position[0] in ids else 0
            shown = ids[begin:] if limit is None else ids[begin : begin + limit + 1]
            positions = ((profile_id,) for profile_id in shown)
            page = cut_page(question, shown, positions, limit=limit, total=len(ids))
            found = self._load(session, organisation_id, None if limit is None else page.entries)
            # Somebody may have been erased in between.
            people = tuple(found[each] for each in page if each in found)
            return Page(people, page.total, page.total_is_capped, page.after)

        return self._database.read(work)

    def find_person(self, organisation: Organisation, profile_id: int) -> Person | None:
        """Return the person of an organisation with that id, or None."""
        organisation_id = identify(organisation, Organisation)
        if not is_id(profile_id):
            return None
        found = self._database.read(lambda session: self._load(session, organisation_id, [profile_id]))
        return found.get(profile_id)

    def _load(
        self, session: Session, organisation_id: int, ids: Sequence[int] | None
    ) -> Mapping[int, Person]:
        """Return those people of an organisation who have one of these ids, or everybody, by id."""
        of_profile = and_(
            OneTimeLink.organisation_id == Profile.organisation_id,
            OneTimeLink.profile_id == Profile.id,
            OneTimeLink.expires_at > self._clock(),
        )
        question = select_people().add_columns(OneTimeLink.expires_at).outerjoin(OneTimeLink, of_profile)
        question = question.where(Profile.organisation_id == organisation_id)
        rows = session.execute(question if ids is None else question.where(Profile.id.in_(ids)))
        return {profile.id: Person(profile, expires_at) for profile, expires_at in rows}


def _find_ids(session: Session, organisation_id: int, search: str) -> list[int]:
    """Return the ids of people by address. Python folds and sorts them, the same on every database."""
    question = select(Profile.email_key, Profile.name, Profile.id)
    rows = session.execute(question.where(Profile.organisation_id == organisation_id)).all()
    return [
        row.id
        for row in sorted(rows, key=lambda row: row.email_key)
        if search in row.email_key or search in row.name.casefold()
    ]
