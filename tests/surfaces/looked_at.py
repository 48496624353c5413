"""Pages as a browser without script would read them: their elements, words, links and fields."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

EMPTY = frozenset("br input link meta path rect line".split())


@dataclass(frozen=True)
class Element:
    """A tag with its attributes, and the words within it."""

    tag: str
    attributes: dict[str, str]
    words: list[str]

    @property
    def text(self) -> str:
        return "".join(self.words).strip()

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]


class Page(HTMLParser):
    """A page, read. Whatever is open at its end, or closed without having been opened,
    is a mistake."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open, [element.tag for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        made = Element(tag, {name: value or "" for name, value in attrs}, [])
        self.elements.append(made)
        if tag not in EMPTY:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in EMPTY:
            return
        assert self._open, tag
        assert self._open[-1].tag == tag, (self._open[-1].tag, tag)
        self._open.pop()

    def handle_data(self, data: str) -> None:
        is_script = bool(self._open) and self._open[-1].tag == "script"
        for element in self._open[-1:] if is_script else self._open:
            element.words.append(data)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """The elements with this tag and these attributes, in their order; `class_` is a word among
        the classes."""
        return [
            one
            for one in self.elements
            if one.tag == tag and all(_has(one, *item) for item in attributes.items())
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    @property
    def text(self) -> str:
        return self.one("body").text

    def links(self, start: str = "") -> list[str]:
        return [one["href"] for one in self.all("a") if one["href"].startswith(start)]


def _has(element: Element, name: str, value: str) -> bool:
    if name == "class_":
        return value in element.attributes.get("class", "").split()
    return element.attributes.get(name.replace("_", "-")) == value
