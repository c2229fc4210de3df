"""The fields of requests about users and API keys. REST reads request bodies with these tables and publishes their
schemas."""

from __future__ import annotations

from shunter.model.identity.roles import Role
from shunter.model.schema.field_lists import value_list
from shunter.model.schema.fields import Field, Section, boolean, choice, duration, text
from shunter.model.schema.name_fields import NAME

NOTE_SIZE_MAX = 200
LIFETIME_MIN_S = 1.0
LIFETIME_MAX_S = 10 * 366 * 86_400.0
OVERLAP_MAX_S = 30 * 86_400.0
OVERLAP_DEFAULT_S = 3_600.0


def _roles(*, required: bool = False) -> Field:
    return value_list(choice(*Role), count_min=1, count_max=len(Role), required=required).about("at least one role")


USER_PUT = Section(
    "what to change of the user; a new user needs roles",
    {
        "roles": _roles(),
        "disabled": boolean().about("whether all keys of the user are refused"),
    },
)
KEY_CREATE = Section(
    "an API key",
    {
        "user": NAME.about("who uses the key; default: the caller"),
        "roles": _roles(required=True),
        "note": text(size_max=NOTE_SIZE_MAX).about("what the key is for"),
        "expires_in": duration(LIFETIME_MAX_S).about("how long it is valid; default: for ever"),
    },
)
KEY_ROTATE = Section(
    "how to rotate a key",
    {"overlap": duration(OVERLAP_MAX_S).about("how long the old secret is still accepted; default: 1h")},
)
