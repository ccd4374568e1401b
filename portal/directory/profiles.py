"""People."""

from __future__ import annotations

from sqlalchemy.orm import Session

from portal.changes import COMMAND_LINE
from portal.directory.access import (
    check_authority,
    check_not_oneself,
    complete,
    lock_profile,
    log_after_commit,
    new_profile,
    require_another_administrator,
    select_people,
)
from portal.directory.names import check_role, check_theme, email_key
from portal.directory.removal import remove_profile
from portal.directory.rows import FOR_CHANGE, FOR_REFERENCE, Part, get_row, identify, names_taken
from portal.errors import InvalidInput
from portal.models import Organisation, Profile
from portal.passwords import check_hash, hash_password
from portal.tokens import end_sessions, end_ways_in
from portal.values import Role, Theme


class Profiles(Part):
    """The directory's calls about people. What they hand back has its ``organisation`` loaded.

    ``by`` is the administrator who does something, whose authority is then judged; None is the command line,
    and whatever else sets an installation up.
    """

    def create_profile(
        self,
        organisation: Organisation,
        *,
        email: str,
        name: str,
        role: Role | str = Role.MEMBER,
        password: str | None = None,
        password_hash: str | None = None,
    ) -> Profile:
        """Create a person in an organisation.

        :param email: how the person signs in: at most 254 characters, unique in the installation however
            it is capitalised.
        :param name: what others read: 1 to 200 code points on one line.
        :param role: ``"member"`` or ``"administrator"``.
        :param password: at most 1,024 bytes; without one the person cannot sign in with a password.
        :param password_hash: instead of a password, its Argon2 hash in PHC string format: for people who
            come from elsewhere with theirs.
        :raises portal.errors.InvalidInput: an argument cannot be accepted, or the organisation is gone.
        :raises portal.errors.NameTaken: (``email``) somebody in the installation has the address.
        """
        if password is not None and password_hash is not None:
            raise InvalidInput("password_hash", "give a password or its hash, not both")
        organisation_id = identify(organisation, Organisation)
        profile = new_profile(organisation_id, email=email, name=name, role=role, at=self._clock())
        profile.password_hash = check_hash(password_hash) if password is None else hash_password(password)

        def work(session: Session) -> Profile:
            get_row(session, Organisation, organisation_id, FOR_REFERENCE)
            session.add(profile)
            session.flush()
            log_after_commit(session, "person_added", profile, COMMAND_LINE)
            return complete(session, profile.id)

        with names_taken():
            return self._database.write(work)

    def find_profile(self, email: str) -> Profile | None:
        """Return the person with that address, however it is capitalised, or None."""
        key = email_key(email)
        if key is None:
            return None
        return self._database.read(
            lambda session: session.scalar(select_people().where(Profile.email_key == key))
        )

    def find_profiles(self, organisation: Organisation) -> list[Profile]:
        """Return everybody in an organisation, active or not, by address."""
        question = select_people().where(Profile.organisation_id == identify(organisation, Organisation))
        found = self._database.read(lambda session: session.scalars(question).all())
        return sorted(found, key=lambda profile: profile.email_key)

    def set_role(self, profile: Profile, role: Role | str, *, by: Profile | None = None) -> Profile:
        """Make somebody a member or an administrator. It counts from their next request on.

        :returns: the person as they stand now.
        :raises portal.errors.InvalidInput: (``role``, ``profile``) there is no such role, or nobody.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        :raises portal.errors.OwnAccess: ``by`` would not be an administrator any more.
        :raises portal.errors.LastAdministrator: nobody active would administer the organisation.
        """
        profile_id, new_role = identify(profile, Profile), check_role(role)

        def work(session: Session) -> Profile:
            found = lock_profile(session, profile_id)
            actor = check_authority(session, by, found.organisation_id)
            if new_role != Role.ADMINISTRATOR:
                check_not_oneself(found, by)
                require_another_administrator(session, found)
            found.role = new_role
            log_after_commit(session, f"person_made_{new_role.value}", found, actor)
            return complete(session, found.id)

        return self._database.write(work)

    def set_preferences(
        self, profile: Profile, *, theme: Theme | str | None = None, keyboard_shortcuts: bool | None = None
    ) -> Profile:
        """Change how the portal looks and works for somebody. What is None stays as it is.

        :param theme: ``"system"``, ``"light"`` or ``"dark"``.
        :returns: the person as they stand now.
        :raises portal.errors.InvalidInput: (``theme``, ``profile``) there is no such theme, or nobody.
        """
        profile_id = identify(profile, Profile)
        new_theme = None if theme is None else check_theme(theme)

        def work(session: Session) -> Profile:
            found = get_row(session, Profile, profile_id, FOR_CHANGE)
            if new_theme is not None:
                found.theme = new_theme
            if keyboard_shortcuts is not None:
                found.keyboard_shortcuts = keyboard_shortcuts
            return complete(session, found.id)

        return self._database.write(work)

    def set_password(self, profile: Profile, password: str | None) -> Profile:
        """Give somebody another password, or none. They are signed out everywhere, and their link ends.

        :param password: 1 to 1,024 bytes, or None: then they cannot sign in with a password.
        :returns: the person as they stand now.
        :raises portal.errors.InvalidInput: (``password``, ``profile``) it cannot be accepted, or there is
            nobody any more.
        """
        profile_id = identify(profile, Profile)
        password_hash = None if password is None else hash_password(password)

        def work(session: Session) -> Profile:
            found = lock_profile(session, profile_id)
            found.password_hash = password_hash
            end_ways_in(session, found)
            log_after_commit(session, "person_password_set", found, COMMAND_LINE)
            return complete(session, found.id)

        return self._database.write(work)

    def deactivate(self, profile: Profile, *, by: Profile | None = None) -> Profile:
        """Keep somebody out: they are signed out, cannot sign in, and their agents are refused.

        Their one-time link ends; nothing else is deleted.

        :returns: the person as they stand now.
        :raises portal.errors.InvalidInput: (``profile``) there is nobody any more.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        :raises portal.errors.OwnAccess: ``by`` is this person.
        :raises portal.errors.LastAdministrator: nobody active would administer the organisation.
        """
        profile_id = identify(profile, Profile)

        def work(session: Session) -> Profile:
            found = lock_profile(session, profile_id)
            actor = check_authority(session, by, found.organisation_id)
            check_not_oneself(found, by)
            require_another_administrator(session, found)
            found.active = False
            end_ways_in(session, found)
            log_after_commit(session, "person_deactivated", found, actor)
            return complete(session, found.id)

        return self._database.write(work)

    def activate(self, profile: Profile, *, by: Profile | None = None) -> Profile:
        """Let somebody in again.

        :returns: the person as they stand now.
        :raises portal.errors.InvalidInput: (``profile``) there is nobody any more.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        """
        profile_id = identify(profile, Profile)

        def work(session: Session) -> Profile:
            found = lock_profile(session, profile_id)
            actor = check_authority(session, by, found.organisation_id)
            found.active = True
            log_after_commit(session, "person_activated", found, actor)
            return complete(session, found.id)

        return self._database.write(work)

    def end_sessions(self, profile: Profile, *, by: Profile | None = None) -> None:
        """Sign somebody out wherever they are signed in. They can sign in again at once.

        :raises portal.errors.InvalidInput: (``profile``) there is nobody any more.
        :raises portal.errors.NotAnAdministrator: ``by`` is no active administrator of the organisation.
        """
        profile_id = identify(profile, Profile)

        def work(session: Session) -> None:
            found = lock_profile(session, profile_id)
            actor = check_authority(session, by, found.organisation_id)
            end_sessions(session, found)
            log_after_commit(session, "person_signed_out", found, actor)

        self._database.write(work)

    def erase_profile(self, profile: Profile) -> None:
        """Erase a person with their agents and everything that is theirs, for good.

        What they hold and what was rejected of them goes, each with an event. Confirmed facts stay,
        because they are the account's, with nobody named as their source; and nobody is named any more
        where the person decided something or acted.

        :raises portal.errors.InvalidInput: (``profile``) there is nobody any more.
        :raises portal.errors.LastAdministrator: nobody active would administer the organisation.
        """
        profile_id = identify(profile, Profile)

        def work(session: Session) -> None:
            found = lock_profile(session, profile_id)
            require_another_administrator(session, found)
            log_after_commit(session, "person_erased", found, COMMAND_LINE)
            remove_profile(session, found, self._clock())

        self._database.write(work)
