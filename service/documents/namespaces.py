"""Prefixes of XML's namespaces: the parsers read the usual ones, programs may declare others.

Python's ElementTree writes `ns0:`, `ns1:`, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping

import regex

from service.documents.segments import DecodedText

_OFFICE = "http://schemas.openxmlformats.org"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_ODF_PREFIXES = ("office", "text", "table", "draw", "presentation", "style", "meta", "config")
_USUAL = {
    f"{_OFFICE}/wordprocessingml/2006/main": "w",
    f"{_OFFICE}/spreadsheetml/2006/main": "x",
    f"{_OFFICE}/presentationml/2006/main": "p",
    f"{_OFFICE}/drawingml/2006/main": "a",
    f"{_OFFICE}/drawingml/2006/chart": "c",
    f"{_OFFICE}/officeDocument/2006/relationships": "r",
    f"{_OFFICE}/package/2006/content-types": "",
    "urn:schemas-microsoft-com:vml": "v",
    "http://purl.org/dc/elements/1.1/": "dc",
    **{f"{_OPEN}:{prefix}:1.0": prefix for prefix in _ODF_PREFIXES},
    f"{_OPEN}:svg-compatible:1.0": "svg",
    f"{_OPEN}:xsl-fo-compatible:1.0": "fo",
    "urn:oasis:names:tc:opendocument:xmlns:container": "",
    **{f"urn:oasis:names:tc:xliff:document:{number}": "" for number in (1.1, 1.2, 2.0, 2.1, 2.2)},
    "http://www.idpf.org/2007/opf": "",
    "http://www.daisy.org/z3986/2005/ncx/": "",
    "http://www.w3.org/1999/xhtml": "",
    "http://www.w3.org/2000/svg": "",
}
"""The prefixes of what the parsers read; none: that of the default namespace."""
_ROOT = regex.compile(r"<[A-Za-z_](?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+>")
_DECLARED = regex.compile(r"""\sxmlns(?::(?P<prefix>[\w.-]++))?\s*+=\s*+["'](?P<uri>[^"']*+)""")
_UNNAMED = regex.compile(r"<[A-Za-z_][\w.-]*+[\s/>]")
_TAG = regex.compile(r"</?(?:[A-Za-z_](?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_NAME = regex.compile(
    r"""(?:"[^"<]*+"|'[^'<]*+')(*SKIP)(*FAIL)
    |(?P<element></?)(?:(?P<prefix>[\w.-]++):)?(?=[\w.-])
    |(?P<attribute>\s)(?P<prefix>(?!xmlns\b)[\w.-]++):(?=[\w.-])
    |(?P<declaration>\sxmlns)(?::(?P<prefix>[\w.-]++))?(?=\s*+=)""",
    regex.X,
)


def with_usual_prefixes(decoded: DecodedText) -> DecodedText:
    """A document with the prefixes that the parsers read; it is encoded with its own."""
    root = _ROOT.search(decoded.text)
    found = _DECLARED.finditer(root.group()) if root else ()
    declared = {one["prefix"] or "": one["uri"] for one in found}
    usual = {prefix: _USUAL.get(uri, prefix) for prefix, uri in declared.items() if prefix}
    renamed = {own: prefix for own, prefix in usual.items() if own != prefix}
    own_of = {prefix: own for own, prefix in renamed.items()}
    is_taken = not own_of.keys().isdisjoint(declared) or len(own_of) < len(renamed)
    if not renamed or is_taken or ("" in own_of and _UNNAMED.search(decoded.text)):
        return decoded
    return DecodedText(
        _renamed(renamed, decoded.text),
        lambda text: decoded.encode(_renamed(own_of, text)),
    )


def _renamed(prefixes: Mapping[str, str], text: str) -> str:
    def name(match: regex.Match[str]) -> str:
        own = match["prefix"] or ""
        prefix = prefixes.get(own, own)
        if match["declaration"]:
            return f"{match['declaration']}:{prefix}" if prefix else match["declaration"]
        if match["attribute"]:
            return f"{match['attribute']}{prefix or own}:"
        return f"{match['element']}{prefix}:" if prefix else match["element"]

    return _TAG.sub(lambda tag: _NAME.sub(name, tag.group()), text)
