"""Content in order: what chunks append to and whole updates replace.

A chunk costs one append; the tuple and the text are made when they are read, and only of what is new since.
A sender that cuts text between UTF-16 units leaves the halves of a character at the end of one chunk and at the
start of the next: they are joined here, and a half that stays alone reads as U+FFFD.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from msgspec import UnsetType, structs

from ..patch.values import owned
from ..protocol.v2.content import SplitTextContent, TextContent
from ..protocol.v2.tool_call import Content

__all__ = ["Parts", "cleared"]

_T = TypeVar("_T")


class Parts(Generic[_T]):
    """The content blocks of a message or summary, or the content items of a tool call."""

    __slots__ = ("_half", "_items", "_joined", "_shared", "_shown", "_text")

    def __init__(self) -> None:
        self.replace(())

    def append(self, item: _T) -> None:
        """Add what one chunk brings."""
        block: Any = item  # Any: narrowed by hand, for a chunk of plain text must cost next to nothing
        if type(block) is TextContent and block.meta is None and block.annotations is None:
            self._items.append(item)
        else:
            self._items.append(self._keep(item))

    def replace(self, items: Sequence[_T]) -> None:
        """Hold these and nothing else; what was held is freed."""
        self._shared = True
        self._items: list[_T] = [self._keep(item) for item in items]
        self._shown: tuple[_T, ...] = ()
        self._text = ""
        self._half = ""
        self._joined = 0

    @property
    def items(self) -> tuple[_T, ...]:
        """All of them, in order."""
        if len(self._shown) != len(self._items):
            self._shown = _whole(self._items)
        return self._shown if self._shared else owned(self._shown)

    @property
    def text(self) -> str:
        """The text of all text items; other kinds are left out."""
        fresh = self._items[self._joined :]
        if fresh:
            self._joined = len(self._items)
            self._join(self._half + "".join([_halves(text) for text in map(_text_of, fresh) if text]))
        return f"{self._text}\ufffd" if self._half else self._text

    def patch(self, mentioned: tuple[_T, ...] | None | UnsetType) -> tuple[_T, ...] | None | UnsetType:
        """As a field of an upsert: the items, or how the field was last cleared, if it was `mentioned` at all."""
        return self.items if self._items else mentioned

    def __len__(self) -> int:
        return len(self._items)

    def _keep(self, item: _T) -> _T:
        kept = owned(item)
        if kept is not item:
            self._shared = False
        return kept

    def _join(self, fresh: str) -> None:
        if not fresh.isascii():
            self._half = fresh[-1] if _is_high(fresh[-1]) else ""
            fresh = _mend(fresh[:-1] if self._half else fresh)
        self._text += fresh


def cleared(content: tuple[_T, ...] | None | UnsetType) -> tuple[_T, ...] | None | UnsetType:
    """What an upsert says about content, without the content: that it was left out, `null`, or given."""
    return () if isinstance(content, tuple) else content


def _text_of(item: object) -> TextContent | None:
    block = item.content if type(item) is Content else item
    return block if isinstance(block, TextContent) else None


def _halves(block: TextContent) -> str:
    """The text with the halves that came at its ends; the decoder shows them as U+FFFD."""
    return block.halves if type(block) is SplitTextContent else block.text


def _with_text(item: Any, text: str) -> Any:  # Any: an item of which `_text_of` gave the text
    if type(item) is Content:
        return structs.replace(item, content=_with_text(item.content, text))
    return TextContent(text=text, annotations=item.annotations, meta=item.meta)


def _whole(items: list[_T]) -> tuple[_T, ...]:
    """The items, with halves of characters joined: the character stays where its second half was."""
    texts: dict[int, str] = {}
    for place, item in enumerate(items):
        block = _text_of(item)
        if block is not None and block.text:
            texts[place] = _halves(block)
    if all(map(_is_whole, texts.values())):
        return tuple(items)
    whole = dict(texts)
    before: int | None = None
    for place, text in texts.items():
        if before is not None and _is_high(whole[before][-1]) and _is_low(text[0]):
            whole[place] = whole[before][-1] + text
            whole[before] = whole[before][:-1]
        before = place
    shown = list(items)
    for place, text in whole.items():
        if not _is_whole(texts[place]):
            shown[place] = _with_text(shown[place], _mend(text))
    return tuple(shown)


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_high(unit: str) -> bool:
    return "\ud800" <= unit <= "\udbff"


def _is_low(unit: str) -> bool:
    return "\udc00" <= unit <= "\udfff"


def _mend(text: str) -> str:
    if _is_whole(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
