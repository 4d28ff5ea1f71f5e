"""Facts about elements: which are inline, which stay untranslated, which tags belong together.

Names are those of the HTML standard. An unknown element, as in XML, is inline where it stands
beside text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import regex

from service.translation.markup.scanner import Kind, Token, scan


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE = _names(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd mark math nobr
    q ruby s samp small span strike strong sub sup svg time tt u var wbr
    """
)
_BLOCK = _names(
    """
    address area article aside audio base blockquote body br button canvas caption center
    col colgroup dd details dialog dir div dl dt embed fieldset figcaption figure footer
    form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe input label
    legend li link main map menu meta meter nav noembed noframes noscript object ol optgroup
    option output p param picture plaintext pre progress rp rt script search section select
    source style summary table tbody td template textarea tfoot th thead title tr track ul
    video xmp
    """
)
_VOID = _names(
    """
    area base br col embed hr img input link meta param source track wbr
    """
)
_UNTOUCHED = _names(
    """
    code iframe kbd m:math math mml:math noembed noframes plaintext pre samp script style svg
    svg:svg textarea tt var xmp
    """
)
TEXTS_IN_SENTENCES = _names("button label output")
"""Elements whose text may be a part of a sentence, as in `Press <button>OK</button>, then wait`."""
WORDS_IN_SENTENCES = TEXTS_IN_SENTENCES | _names(
    "audio canvas iframe input meter object progress select video"
)
"""Elements that stand in the place of a word where they are in a sentence and have no text."""
READINGS = _names("rp rt rtc")
"""Elements that say how a word is read."""
_ENDS = regex.compile(r"[.!?:;|。！？：；…]\s*\Z")
_GOES_ON = regex.compile(
    r"\s*+(?:\p{Ll}|[,.;!?)，。；！？、）]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}])"
)
_SEPARATOR = regex.compile(r"(?:[\s|·•/»›—-]|&nbsp;|&middot;|&bull;)++")
_BEGINNING = regex.compile(r"\s*+<(?:!doctype\s|\?xml\s)", regex.IGNORECASE)
_KEEPS = regex.compile(
    r"""\stranslate\s*+=\s*+(?:"no"|'no'|no(?=[\s/>]))"""
    r"""|\sclass\s*+=\s*+(?:"[^"]*?\bnotranslate\b|'[^']*?\bnotranslate\b|notranslate(?=[\s/>]))""",
    regex.IGNORECASE,
)
SIGN_FONTS = r"(?:wingdings|webdings|symbol|zapf\s?dingbats)\b"
"""Fonts whose letters are signs: a J of Wingdings is a smiley."""
_SIGNS = regex.compile(
    r"""\s(?:style\s*+=\s*+(?:"[^"]*?|'[^']*?)\bfont-family\s*+:\s*+|face\s*+=\s*+)"""
    rf"""(?:["']|&quot;)?{SIGN_FONTS}""",
    regex.IGNORECASE,
)
_TRANSLATES = regex.compile(
    r"""\stranslate\s*+=\s*+(?:"yes"|'yes'|yes(?=[\s/>]))""", regex.IGNORECASE
)
_LANGUAGE = regex.compile(r"""\s(?:xml:)?lang\s*+=\s*+["']?([A-Za-z-]++)""", regex.IGNORECASE)
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo", "zt"})


def is_known(name: str) -> bool:
    """Whether HTML has an element of this name."""
    return name in _INLINE or name in _BLOCK


def is_block(name: str) -> bool:
    """Whether HTML's element of this name ends the text before it."""
    return name in _BLOCK


def is_between(before: str, after: str) -> bool:
    """Whether what stands between these texts is in the middle of a sentence."""
    return (
        bool(before.strip()) and _ENDS.search(before) is None and _GOES_ON.match(after) is not None
    )


def keeps_content(source: str, tag: Token) -> bool:
    """Whether the content of this start tag's element is not to be translated."""
    is_sign = _SIGNS.search(source, tag.start, tag.end) is not None
    return is_sign or tag.name in _UNTOUCHED or keeps_itself(source, tag)


def keeps_itself(source: str, tag: Token) -> bool:
    """Whether this start tag says that its element is not translated, attributes included."""
    return _KEEPS.search(source, tag.start, tag.end) is not None


def translated_again(source: str, tokens: Sequence[Token]) -> list[int]:
    """The start tags of elements that say that they are translated, in order."""
    if _TRANSLATES.search(source) is None:
        return []
    starts = ((n, one) for n, one in enumerate(tokens) if one.kind is Kind.START)
    return [n for n, one in starts if _TRANSLATES.search(source, one.start, one.end)]


def is_in(source: str, tag: Token, language: str) -> bool:
    """Whether this start tag says that its element is in the language. That of a whole page says
    little: templates have it."""
    found = None if tag.name == "html" else _LANGUAGE.search(source, tag.start, tag.end)
    if found is None:
        return False
    marked, wanted = found[1].lower().split("-"), language.lower().split("-")
    return marked[0] == wanted[0] and _is_traditional(marked) == _is_traditional(wanted)


def _is_traditional(subtags: Sequence[str]) -> bool:
    """Whether a tag of Chinese means traditional Chinese."""
    return not _TRADITIONAL.isdisjoint(subtags)


def pair_tags(tokens: Sequence[Token], void: frozenset[str] = _VOID) -> dict[int, int]:
    """Each paired tag's index -> the index of its partner. Pairs never overlap partly: an end tag
    closes the last open tag of its name, and those opened within stay unpaired. `void`: the names
    of elements without end tags. Linear time."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    by_name: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if token.kind is Kind.START and not token.is_empty and token.name not in void:
            opened.append(index)
            by_name[token.name] = by_name.get(token.name, 0) + 1
        elif token.kind is Kind.END and by_name.get(token.name):
            while True:
                start = opened.pop()
                by_name[tokens[start].name] -= 1
                if tokens[start].name == token.name:
                    break
            partners[start], partners[index] = index, start
    return partners


def inline_names(source: str, tokens: Sequence[Token]) -> frozenset[str]:
    """The names of inline elements: HTML's, and unknown ones that stand directly beside text, also
    where HTML's enclose them. Linear time."""
    found: set[str] = set()
    for index, token in enumerate(tokens):
        if token.kind not in (Kind.START, Kind.END) or is_known(token.name):
            continue
        before = token.kind is Kind.START or token.is_empty
        after = token.kind is Kind.END or token.is_empty
        if (before and _is_text(source, tokens, _outside(tokens, index, Kind.START))) or (
            after and _is_text(source, tokens, _outside(tokens, index, Kind.END))
        ):
            found.add(token.name)
    return _INLINE | found


def _outside(tokens: Sequence[Token], index: int, kind: Kind) -> int:
    """The index of the token before a tag and the start tags of HTML's inline elements around it,
    or after it and their end tags."""
    step = -1 if kind is Kind.START else 1
    index += step
    while 0 <= index < len(tokens) and _is_inline_tag(tokens[index], kind):
        index += step
    return index


def _is_inline_tag(token: Token, kind: Kind) -> bool:
    return token.kind is kind and token.name in _INLINE


def list_links(source: str, tokens: Sequence[Token], partners: Mapping[int, int]) -> frozenset[int]:
    """The start tags of links that follow others in a list, such as `A | B | C`: three or more with
    only white space or separators between. They are items, not one sentence. Linear time."""
    following = {}
    for index, token in enumerate(tokens):
        end = partners.get(index, -1)
        if token.name == "a" and end > index:
            after = end + 1
            if after < len(tokens) and _is_separator(source, tokens[after]):
                after += 1
            if after < len(tokens) and tokens[after].name == "a" and after in partners:
                following[index] = after
    followers = set(following.values())
    return frozenset(
        after for index, after in following.items() if after in following or index in followers
    )


def _is_separator(source: str, token: Token) -> bool:
    return token.kind is Kind.TEXT and bool(_SEPARATOR.fullmatch(source, token.start, token.end))


def _is_text(source: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether there is a token of text that is not only white space."""
    if not 0 <= index < len(tokens) or tokens[index].kind is not Kind.TEXT:
        return False
    return not source[tokens[index].start : tokens[index].end].isspace()


def is_html(source: str) -> bool:
    """Whether a text is HTML or XML rather than plain text: it begins with a document type or an
    XML declaration, or has an element of HTML with both tags, a line break, or an image.

    `a < b`, `List<String>`, `<name>` and a single `<b>` are plain text.
    """
    if "<" not in source:
        return False
    if _BEGINNING.match(source):
        return True
    tokens = list(scan(source))
    if any(_is_break(source, token) for token in tokens):
        return True
    return any(is_known(tokens[index].name) for index in pair_tags(tokens))


def _is_break(source: str, token: Token) -> bool:
    if token.kind is not Kind.START:
        return False
    if token.name == "img":
        return source.find("=", token.start, token.end) >= 0
    return token.name in ("br", "hr", "wbr")
