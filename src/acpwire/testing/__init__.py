"""For tests of agents, clients and transports, ours and yours.

Nothing is imported here: `acpwire.testing.contract` has the suite that every transport passes,
`acpwire.testing.driver` speaks raw lines to any command.
"""

from __future__ import annotations

__all__: list[str] = []
