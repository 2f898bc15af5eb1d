"""The commands, one module each. `main` is where the console script begins."""

from __future__ import annotations

__all__: list[str] = []
