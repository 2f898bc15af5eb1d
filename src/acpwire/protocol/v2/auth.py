"""Ways to log in, and the two requests that use them (AUTH-01 to AUTH-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..base import Object
from ..ids import AuthMethodId
from ..open import NULL_AS_DEFAULT, ON_ERROR, Open, Unknown

__all__ = [
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodTerminal",
    "EnvVariable",
    "LoginAuthRequest",
    "LoginAuthResponse",
    "LogoutAuthRequest",
    "LogoutAuthResponse",
]


class EnvVariable(Object, frozen=True, kw_only=True):
    """One variable of an environment; names are unique in their list (AUTH-11)."""

    name: str
    """Its name."""
    value: str
    """Its value."""


class _Method(Object, frozen=True, kw_only=True, tag_field="type"):
    method_id: AuthMethodId
    """What `auth/login` names."""
    name: str
    """What people see."""
    description: Annotated[str | None, ON_ERROR] = None
    """More of it, for people."""


class AuthMethodAgent(_Method, frozen=True, kw_only=True, tag="agent"):
    """The agent does it when `auth/login` asks for it (AUTH-07)."""


class AuthMethodTerminal(_Method, frozen=True, kw_only=True, tag="terminal"):
    """The client runs the agent's own command in a terminal, with these additions (AUTH-10)."""

    args: Annotated[tuple[str, ...], NULL_AS_DEFAULT] = ()
    """Arguments to append (AUTH-16)."""
    env: Annotated[tuple[EnvVariable, ...], NULL_AS_DEFAULT] = ()
    """Variables to set over the same-named ones (AUTH-11)."""


if TYPE_CHECKING:
    AuthMethod: TypeAlias = AuthMethodAgent | AuthMethodTerminal | Unknown
    """A way to log in; an unknown one has `methodId` and `name`, and can be offered to nobody (AUTH-05, EXT-27)."""
else:
    AuthMethod = Annotated[
        AuthMethodAgent | AuthMethodTerminal,
        Open("type", required={"methodId": str, "name": str}),
    ]


class LoginAuthRequest(Object, frozen=True, kw_only=True):
    """Log in (AUTH-21)."""

    method_id: AuthMethodId
    """Which way; never one of type `terminal` (AUTH-08)."""


class LoginAuthResponse(Object, frozen=True, kw_only=True):
    """The client is logged in (AUTH-22)."""


class LogoutAuthRequest(Object, frozen=True, kw_only=True):
    """Log out."""


class LogoutAuthResponse(Object, frozen=True, kw_only=True):
    """The client is logged out (AUTH-24)."""
