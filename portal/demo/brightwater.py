"""A second, small organisation, so that one can see that nothing crosses over."""

from __future__ import annotations

from portal.demo.story import Decided, Kind, Person, Proposed, Remembered, Story

NADIA = Person("nadia@brightwater.example", "Nadia Rahman", "administrator")
SAM = Person("sam@brightwater.example", "Sam Whitlock")

SUPPORT = Kind(
    "support", "Reception", "Helps the reception of an animal clinic with appointments and questions."
)

STORY = Story(
    name="Brightwater Animal Clinic",
    slug="brightwater",
    people=[NADIA, SAM],
    kinds=[SUPPORT],
    steps=[
        Remembered(
            12.4, SAM, SUPPORT, "working_days", "Works Monday to Wednesday, and every other Saturday."
        ),
        Proposed(11.2, SAM, SUPPORT, "opening_hours", "Open 8:00 to 18:30, Thursdays until 20:00."),
        Decided(11.0, NADIA, "confirm", SAM, SUPPORT, "opening_hours"),
        Proposed(
            9.7, NADIA, SUPPORT, "refund_window", "Food that a patient refuses is taken back for 7 days."
        ),
        Remembered(
            6.1, NADIA, SUPPORT, "handover_style", "Wants handovers as five bullet points, worst first."
        ),
        Proposed(
            0.8, SAM, SUPPORT, "parrot_protocol", "Parrots wait in room 3. The cats know what they did."
        ),
    ],
)
