"""How bytes travel: in memory, over stdio, to a spawned process.

Each module keeps the contract of `acpwire.jsonrpc.transport`. Nothing is imported here, so that a program pays
only for the transport it uses: `acpwire.transports.memory`, `acpwire.transports.stdio`.
"""

from __future__ import annotations

__all__: list[str] = []
