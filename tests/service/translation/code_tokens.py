"""Strings of code in many forms, and sentences to put them in."""

from __future__ import annotations

from hypothesis import strategies as st

from service.translation.markup.elements import is_block

_SHAPES = (
    # names
    r"[a-z]{2,8}(_[a-z]{2,8}){1,2}(\(\))?",
    r"[a-z]{2,8}(\.[a-z]{2,8}){1,3}(\(\))?|[a-z]{2,8}\.[A-Z][a-z]{2,6}[A-Z][a-z]{2,6}",
    r"[a-z]{2,8}[A-Z][a-z]{1,8}([A-Z][a-z]{1,8})?|[a-z]{2,8}\(\)|[a-z]{3,8}[1-9]\.[0-9]{1,2}",
    r"__[a-z]{2,8}__|@@[A-Z]{2,8}@@|##[A-Z]{2,8}##|%%[A-Z]{2,8}%%",
    r"[a-z]{2,8}(::|->)[a-z_]{2,8}[a-z]|(List|Map)<[A-Z][a-z]{2,8}>",
    r"--[a-z]{2,8}(-[a-z]{2,8})?(=[a-z0-9]{1,8})?|[a-z]{2,8}=[a-z0-9]{1,8}",
    # places
    r"\$[A-Z]{2,8}(/[a-z]{2,8}){0,2}|~?(/[a-z]{2,8}){2,3}|[CD]:\\[A-Z][a-z]{2,8}\\[a-z]{2,8}",
    r"https?://[a-z]{2,8}\.(org|museum)/[a-z]{1,8}(\?[a-z]=[0-9])?",
    r"[a-z]{2,8}\.[a-z]{2,8}@[a-z]{2,8}\.(de|cn)|@[a-z]{2,8}/[a-z]{2,8}|[a-z]{3,8}:[1-9][0-9]{3}",
    r"[a-z]{2,8}-[a-z]{2,8}\.(py|docx|svelte)|[a-z]{2,8}/\*\*/[a-z]{2,8}|[a-z]{2,8}[*?]\.log|\.[a-z]{3,8}rc",
    # numbers of things
    r"([a-f][0-9]){4}[0-9a-f]{32}|0x[0-9a-f]{2,8}|#[0-9a-f]{5}[a-f]|v[0-9]\.[0-9]{1,2}(\.[0-9])?",
    r"[0-9a-f]{7}[0-9](-[0-9a-f]{4}){3}-([0-9a-f]{2}[0-9][a-f]){3}",
    r"([A-Z][a-z][0-9]){3}[A-Za-z0-9]{9}(==)?|(sk-|ghp_)([a-zA-Z][0-9]){3}[A-Za-z0-9]{12}",
    r"[0-9A-F][0-9](:[0-9A-F]{2}){5}|[0-9a-f]{4}(:[0-9a-f]{1,4}){7}|fe80::[0-9a-f]{1,4}",
    r"978-3-[1-9][0-9]{2}-[0-9]{5}-[0-9]|(192|10)\.1[0-9]{2}\.2[0-4][0-9]\.[1-9](/24|:80)?",
    r"[A-Z][0-9][A-Z]{2}(-[A-Z0-9]{4}){2}|[A-Z]{2}[0-9]{2}( [0-9]{4}){4} [0-9]{2}",
    r"\+[1-9][0-9] [0-9]{3} [0-9]{5,7}|[12][0-9]{3}-[01][0-9]-[0-3][0-9]",
    r"yyyy-MM-dd|dd\.MM\.yyyy|HH:mm|YYYY/MM/DD|yyyy-MM-ddTHH:mm|%Y-%m-%d|\[x\]|&&|==|=>",
    r"(Na|Ca|Fe|Mg)(OH|Cl|SO4|NO3)|H(Cl|Br)|(Ca|Mg|Fe)\((OH|NO3)\)2|(Ca|Mg|Fe)[23]\+",
    r"H2(O2|S2|SO4)|C[2-9]H[2-9](O[2-9])?|[1-9]{1,2}x[1-9]{1,4}x[1-9]{1,2}(cm|mm)?",
    # placeholders
    r"%(s|d|1\$s|\([a-z]{2,8}\)s|\.2f)|\{[a-z]{0,8}\}|\$\{\{ [a-z]{2,8}\.[A-Z]{2,8} \}\}",
    r"\{\{ ?[a-z]{2,8} ?\}\}|[$#]\{[a-z]{2,8}\}|<[a-z]{3,8} id=\"[0-9]\"/>|`[a-z]{2,8} [a-z]{2,8}`",
    r":[a-z]{2,8}(-[a-z0-9]{2,8}){0,5}:|:([a-z]{1,8}:)?[a-z]{2,8}:`[a-z]{2,8}(\.[a-z]{2,8})?`",
)
CODE = st.one_of([st.from_regex(shape, fullmatch=True) for shape in _SHAPES])
_NAME = st.from_regex("[a-z]{1,8}|[0-9]{1,2}", fullmatch=True).filter(
    lambda name: not is_block(name)
)
"""Of no block, such as `p`, which ends a sentence."""
NAMED_MARKS = st.tuples(_NAME, st.sampled_from(["<>", "{}", "[]", "{{}}"])).map(
    lambda drawn: _named_pair(*drawn)
)
"""Two marks around words, of which the last says that it is the end."""
MARKS = st.one_of(
    NAMED_MARKS,
    st.sampled_from(["%s", "%d", "*", "**", "_", "~~"]).map(lambda mark: (mark, mark)),
    st.tuples(_NAME, _NAME).map(lambda names: (f"{{{names[0]}}}", f"{{{names[1]}}}")),
    st.tuples(_NAME, _NAME).map(lambda names: (f"{{{{{names[0]}}}}}", f"{{{{{names[1]}}}}}")),
    st.just(("%1$s", "%2$s")),
)
"""Two marks of one kind that may stand around words."""
FRAMES = {
    "en": ("The value {} is wrong.", "Please use {}, or call me!", "What does it ({}) mean?"),
    "de": ("Der Wert {} ist falsch.", "Nimm „{}“ oder ruf an!", "Was heißt das: {}?"),
    "zh": ("值 {} 是错的。", "请使用{}，谢谢！", "它（{}）是什么意思？"),
}


def _named_pair(name: str, brackets: str) -> tuple[str, str]:
    left, right = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
    return f"{left}{name}{right}", f"{left}/{name}{right}"
