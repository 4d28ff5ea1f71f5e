"""Translate a folder of HTML pages, and see whether their tags come back.

    python -m benchmarks.pages FOLDER --target de zh

prints a line a page and target: size, seconds, and what differs by Python's html.parser, which has
nothing in common with our scanner:

- tags: all tags with their attributes (but for attributes that are translated), as a multiset;
- order: the tags of block elements, comments and declarations, in order;
- nesting: end tags that do not close the element opened last, and elements that are never closed;
- kept: the contents of script, style, pre, code, textarea and the like, as a multiset;
- empty: links with text that have none any more.

At the end it prints links to read: their text before and after.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import time
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from benchmarks.sentences import ROOT
from service.offline import OfflineOptions, OfflineTranslator

_TRANSLATED = {"alt", "title", "placeholder", "aria-label"}
_INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite del dfn em font i img ins kbd mark q s samp small span strike
    strong sub sup tt u var wbr code time data ruby svg math nobr
    """.split()  # noqa: SIM905
)
_KEPT = {"script", "style", "pre", "code", "textarea", "kbd", "samp", "var", "tt", "svg"}
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)


class Skeleton(HTMLParser):
    """What must be the same before and after."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: collections.Counter[object] = collections.Counter()
        self.order: list[object] = []
        self.nesting_errors = 0
        self.kept: collections.Counter[str] = collections.Counter()
        self.links: list[str] = []
        self._opened: list[str] = []
        self._contents: list[list[str]] = []
        self._link: list[str] | None = None
        self.feed(page)
        self.close()
        self.nesting_errors += len(self._opened)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fixed = tuple((name, value) for name, value in attrs if name not in _TRANSLATED)
        self._count(("start", tag, fixed), tag)
        if tag in _VOID:
            return
        self._opened.append(tag)
        if tag in _KEPT:
            self._contents.append([])
        if tag == "a":
            self._link = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fixed = tuple((name, value) for name, value in attrs if name not in _TRANSLATED)
        self._count(("empty", tag, fixed), tag)

    def handle_endtag(self, tag: str) -> None:
        self._count(("end", tag), tag)
        if tag in self._opened:
            while (last := self._opened.pop()) != tag:
                self.nesting_errors += 1
                self._close(last)
            self._close(tag)
        else:
            self.nesting_errors += 1

    def _close(self, tag: str) -> None:
        if tag in _KEPT and self._contents:
            self.kept[f"{tag}: {''.join(self._contents.pop())}"] += 1
        if tag == "a" and self._link is not None:
            self.links.append("".join(self._link).strip())
            self._link = None

    def handle_data(self, data: str) -> None:
        for contents in self._contents:
            contents.append(data)
        if self._link is not None:
            self._link.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self._count(("comment", data), "")

    def handle_decl(self, decl: str) -> None:
        self._count(("declaration", decl), "")

    def _count(self, event: object, tag: str) -> None:
        self.tags[event] += 1
        if tag not in _INLINE and tag:
            self.order.append(event)


def differences(page: str, found: str) -> tuple[list[str], Skeleton, Skeleton]:
    before, after = Skeleton(page), Skeleton(found)
    faults = []
    if before.tags != after.tags:
        lost, added = before.tags - after.tags, after.tags - before.tags
        faults.append(f"tags: lost {list(lost)[:3]}, added {list(added)[:3]}")
    if before.order != after.order:
        faults.append("order")
    if after.nesting_errors > before.nesting_errors:
        faults.append(f"nesting: {before.nesting_errors} -> {after.nesting_errors}")
    if before.kept != after.kept:
        lost_text = list((before.kept - after.kept).elements())[:2]
        faults.append(f"kept: {lost_text}")
    empty = sum(not text for text in after.links) - sum(not text for text in before.links)
    if empty > 0:
        faults.append(f"empty: {empty} links")
    if any(char in found and char not in page for char in "\ufffc\ufffd"):
        faults.append("a replacement character")
    return faults, before, after


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", nargs="+", default=["de", "zh"])
    parser.add_argument("--max-bytes", type=int, default=60_000)
    parser.add_argument("--links", type=int, default=40, help="links to show")
    parser.add_argument("--out", type=Path, help="a folder for the translated pages")
    chosen = parser.parse_args(arguments)
    models = [ROOT / "checkpoints" / name for name in ("zh-en", "en-de")]
    shown: list[str] = []
    num_right = collections.Counter[str]()
    pages = sorted(path for path in chosen.folder.iterdir() if path.suffix == ".html")
    pages = [path for path in pages if path.stat().st_size <= chosen.max_bytes]
    with OfflineTranslator(models, OfflineOptions("cpu", "int8", max_slots=64)) as translator:
        for path in pages:
            page = path.read_text(encoding="utf-8", errors="replace")
            for target in chosen.target:
                began = time.perf_counter()
                found = translator.translate(page, chosen.source, target, "html")
                seconds = time.perf_counter() - began
                faults, before, after = differences(page, found)
                num_right[target] += not faults
                told = "; ".join(faults) or "same"
                print(f"{path.name} {target} {len(page)} {seconds:.1f} s: {told}", flush=True)
                pairs = list(zip(before.links, after.links, strict=False))
                shown += [f"{target}: {a!r} -> {b!r}" for a, b in pairs if " " in a or target]
                if chosen.out is not None:
                    chosen.out.mkdir(parents=True, exist_ok=True)
                    (chosen.out / f"{target}-{path.name}").write_text(found, encoding="utf-8")
    for target, count in num_right.items():
        print(f"{target}: {count} of {len(pages)} pages have the same tags")
    for line in random.Random(1).sample(shown, min(chosen.links, len(shown))):
        print(line)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
