"""Every transport of ours keeps the contract of transports."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acpwire.jsonrpc.transport import Transport
from acpwire.testing.contract import TRANSPORT_CHECKS, Check, Connect
from acpwire.testing.driver import Rendezvous
from acpwire.transports import _streams, memory
from acpwire.transports.stdio import StdioTransport, spawn

LIMIT = 64 * 1024 * 1024


@asynccontextmanager
async def closing(left: Transport, right: Transport) -> AsyncGenerator[tuple[Transport, Transport], None]:
    try:
        yield left, right
    finally:
        await left.aclose()
        await right.aclose()


@asynccontextmanager
async def in_memory(*, limit: int = LIMIT) -> AsyncGenerator[tuple[Transport, Transport], None]:
    async with closing(*memory.pair(limit=limit)) as ends:
        yield ends


@asynccontextmanager
async def over_pipes(*, limit: int = LIMIT) -> AsyncGenerator[tuple[Transport, Transport], None]:
    there, back = os.pipe(), os.pipe()
    left = StdioTransport(back[0], there[1], limit=limit)
    right = StdioTransport(there[0], back[1], limit=limit)
    async with closing(left, right) as ends:
        yield ends


@asynccontextmanager
async def over_sockets(*, limit: int = LIMIT) -> AsyncGenerator[tuple[Transport, Transport], None]:
    pair = [end.detach() for end in socket.socketpair()]
    async with closing(*(StdioTransport(fd, fd, limit=limit) for fd in pair)) as ends:
        yield ends


@asynccontextmanager
async def over_threads(*, limit: int = LIMIT) -> AsyncGenerator[tuple[Transport, Transport], None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streams, "_WATCHABLE", False)
        async with over_pipes(limit=limit) as ends:
            yield ends


@asynccontextmanager
async def spawned(*, limit: int = LIMIT) -> AsyncGenerator[tuple[Transport, Transport], None]:
    async with Rendezvous() as meeting:
        left = await spawn(meeting.command, limit=limit)
        fd = (await meeting.accept_socket()).detach()
        async with closing(left, StdioTransport(fd, fd, limit=limit)) as ends:
            yield ends


def open_descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("connect", [in_memory, over_pipes, over_sockets, over_threads, spawned])
@pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
async def test_the_contract_is_kept(check: Check, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acpwire.transports.stdio.FLUSH_PATIENCE", 0.5)
    before = open_descriptors()
    await check(connect)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert open_descriptors() <= before
