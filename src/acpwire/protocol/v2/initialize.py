"""The first request: versions, names and capabilities of both sides (INIT-02, INIT-04, CAP-04).

A capability is an object whose presence means support; `None` is absence, and a malformed one reads as absent (CAP-05).
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, field

from ..base import Object
from ..open import ON_ERROR, Skipping
from .auth import AuthMethod

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "ClientAuthCapabilities",
    "ClientCapabilities",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "McpCapabilities",
    "McpHttpCapabilities",
    "McpStdioCapabilities",
    "PromptAudioCapabilities",
    "PromptCapabilities",
    "PromptEmbeddedContextCapabilities",
    "PromptImageCapabilities",
    "ProtocolVersion",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionCapabilities",
    "SessionDeleteCapabilities",
    "TerminalAuthCapabilities",
]

ProtocolVersion: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]
"""A major version of the protocol (INIT-07)."""


class Implementation(Object, frozen=True, kw_only=True):
    """What one side says of itself (INIT-27)."""

    name: str
    """Its programmatic name."""
    title: Annotated[str | None, ON_ERROR] = None
    """Its name for people; without it `name` is shown."""
    version: str
    """Its own version."""


class PromptImageCapabilities(Object, frozen=True, kw_only=True):
    """Prompts may hold images."""


class PromptAudioCapabilities(Object, frozen=True, kw_only=True):
    """Prompts may hold audio."""


class PromptEmbeddedContextCapabilities(Object, frozen=True, kw_only=True):
    """Prompts may hold embedded resources."""


class PromptCapabilities(Object, frozen=True, kw_only=True):
    """What a prompt may hold beside text and resource links (CAP-11)."""

    image: Annotated[PromptImageCapabilities | None, ON_ERROR] = None
    """Images."""
    audio: Annotated[PromptAudioCapabilities | None, ON_ERROR] = None
    """Audio."""
    embedded_context: Annotated[PromptEmbeddedContextCapabilities | None, ON_ERROR] = None
    """Embedded resources."""


class McpStdioCapabilities(Object, frozen=True, kw_only=True):
    """The agent can start MCP servers."""


class McpHttpCapabilities(Object, frozen=True, kw_only=True):
    """The agent can reach MCP servers over HTTP."""


class McpCapabilities(Object, frozen=True, kw_only=True):
    """How the agent can reach MCP servers (CAP-12)."""

    stdio: Annotated[McpStdioCapabilities | None, ON_ERROR] = None
    """As processes that it starts."""
    http: Annotated[McpHttpCapabilities | None, ON_ERROR] = None
    """Over HTTP."""


class SessionDeleteCapabilities(Object, frozen=True, kw_only=True):
    """`session/delete` is there."""


class SessionAdditionalDirectoriesCapabilities(Object, frozen=True, kw_only=True):
    """Sessions take further roots."""


class SessionCapabilities(Object, frozen=True, kw_only=True):
    """What the agent can do with sessions; its presence commits to the whole baseline of methods (CAP-07)."""

    prompt: Annotated[PromptCapabilities | None, ON_ERROR] = None
    """What a prompt may hold (CAP-11)."""
    mcp: Annotated[McpCapabilities | None, ON_ERROR] = None
    """How it reaches MCP servers (CAP-12)."""
    delete: Annotated[SessionDeleteCapabilities | None, ON_ERROR] = None
    """`session/delete` is there (CAP-13)."""
    additional_directories: Annotated[SessionAdditionalDirectoriesCapabilities | None, ON_ERROR] = None
    """Sessions take further roots (CAP-14)."""


class AgentAuthCapabilities(Object, frozen=True, kw_only=True):
    """Extensions of authentication; says nothing about login and logout (CAP-16)."""


class AgentCapabilities(Object, frozen=True, kw_only=True):
    """What an agent can do; extensions stand under a namespaced key of `meta` (CAP-29)."""

    session: Annotated[SessionCapabilities | None, ON_ERROR] = None
    """It has sessions (CAP-07)."""
    auth: Annotated[AgentAuthCapabilities | None, ON_ERROR] = None
    """Extensions of authentication."""


class TerminalAuthCapabilities(Object, frozen=True, kw_only=True):
    """The client can run the agent's command in an interactive terminal."""


class ClientAuthCapabilities(Object, frozen=True, kw_only=True):
    """How the client can help to log in."""

    terminal: Annotated[TerminalAuthCapabilities | None, ON_ERROR] = None
    """In a terminal (CAP-19)."""


class ElicitationFormCapabilities(Object, frozen=True, kw_only=True):
    """The client shows forms."""


class ElicitationUrlCapabilities(Object, frozen=True, kw_only=True):
    """The client opens URLs."""


class ElicitationCapabilities(Object, frozen=True, kw_only=True):
    """How the client can ask the user (CAP-21); an empty object advertises neither (ELIC-04)."""

    form: Annotated[ElicitationFormCapabilities | None, ON_ERROR] = None
    """With a form."""
    url: Annotated[ElicitationUrlCapabilities | None, ON_ERROR] = None
    """By sending the user to a page."""


class ClientCapabilities(Object, frozen=True, kw_only=True):
    """What a client can do; extensions stand under a namespaced key of `meta` (CAP-29)."""

    auth: Annotated[ClientAuthCapabilities | None, ON_ERROR] = None
    """How it helps to log in."""
    elicitation: Annotated[ElicitationCapabilities | None, ON_ERROR] = None
    """How it asks the user."""


class InitializeRequest(Object, frozen=True, kw_only=True):
    """The client's half."""

    protocol_version: ProtocolVersion
    """The latest that the client speaks (INIT-02)."""
    info: Implementation
    """What it is."""
    capabilities: Annotated[ClientCapabilities, ON_ERROR] = field(default_factory=ClientCapabilities)
    """What it can do."""


class InitializeResponse(Object, frozen=True, kw_only=True):
    """The agent's half."""

    protocol_version: ProtocolVersion
    """The version chosen for this connection (INIT-09)."""
    info: Implementation
    """What it is."""
    capabilities: Annotated[AgentCapabilities, ON_ERROR] = field(default_factory=AgentCapabilities)
    """What it can do."""
    auth_methods: Annotated[Skipping[AuthMethod], ON_ERROR] = ()
    """Ways to log in; one or more commit to `auth/login` and `auth/logout` (AUTH-02)."""
