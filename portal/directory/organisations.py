"""Organisations."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from portal.directory.names import check_name, check_slug, is_slug
from portal.directory.removal import remove_organisation
from portal.directory.rows import FOR_CHANGE, Part, get_row, identify, names_taken
from portal.models import Organisation
from portal.tokens import WAYS_IN


class Organisations(Part):
    """The directory's calls about tenants."""

    def create_organisation(self, *, name: str, slug: str) -> Organisation:
        """Create a tenant, with nobody in it yet.

        :param name: what people read: 1 to 200 code points on one line.
        :param slug: what the command line calls it: 1 to 64 of a to z, 0 to 9 and ``-``, unique here.
        :raises portal.errors.InvalidInput: (``name``, ``slug``) it cannot be accepted.
        :raises portal.errors.NameTaken: (``slug``) another organisation has it.
        """
        organisation = Organisation(
            name=check_name("name", name),
            slug=check_slug("slug", slug),
            active=True,
            created_at=self._clock(),
        )
        with names_taken():
            self._database.write(lambda session: session.add(organisation))
        return organisation

    def find_organisation(self, slug: str) -> Organisation | None:
        """Return the organisation with that slug, or None."""
        if not is_slug(slug):
            return None
        question = select(Organisation).where(Organisation.slug == slug)
        return self._database.read(lambda session: session.scalar(question))

    def find_organisations(self) -> list[Organisation]:
        """Return every organisation, by slug."""
        found = self._database.read(lambda session: session.scalars(select(Organisation)).all())
        return sorted(found, key=lambda organisation: organisation.slug)

    def deactivate_organisation(self, organisation: Organisation) -> Organisation:
        """Close an organisation: nobody in it can sign in or is signed in, and its agents are refused.

        One-time links of its people end; nothing else is deleted.

        :returns: the organisation as it stands now.
        :raises portal.errors.InvalidInput: (``organisation``) it is gone.
        """
        organisation_id = identify(organisation, Organisation)

        def work(session: Session) -> Organisation:
            found = get_row(session, Organisation, organisation_id, FOR_CHANGE)
            found.active = False
            for way_in in WAYS_IN:
                session.execute(delete(way_in).where(way_in.organisation_id == found.id))
            return found

        return self._database.write(work)

    def activate_organisation(self, organisation: Organisation) -> Organisation:
        """Open an organisation again. People sign in anew.

        :returns: the organisation as it stands now.
        :raises portal.errors.InvalidInput: (``organisation``) it is gone.
        """
        organisation_id = identify(organisation, Organisation)

        def work(session: Session) -> Organisation:
            found = get_row(session, Organisation, organisation_id, FOR_CHANGE)
            found.active = True
            return found

        return self._database.write(work)

    def delete_organisation(self, organisation: Organisation) -> None:
        """Delete an organisation with everything in it: people, agents, memories and their events.

        :raises portal.errors.InvalidInput: (``organisation``) it is gone.
        """
        organisation_id = identify(organisation, Organisation)

        def work(session: Session) -> None:
            remove_organisation(session, get_row(session, Organisation, organisation_id, FOR_CHANGE))

        self._database.write(work)
