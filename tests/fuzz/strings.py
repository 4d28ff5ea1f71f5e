"""Strategies for the strangest texts."""

from __future__ import annotations

from hypothesis import strategies as st

HOSTILE = (
    *("\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u180e", "\u034f", "\ufe0f"),
    *("\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"),
    *("\0", "\x01", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029"),
    *("\r\n", "\n", "\r", "\t", " ", "\u3000", "\u00a0", "\ufffd", "\uffff", "\U0010ffff"),
    *("\u0301", "\u0323", "\u20dd", "\u0e33", "\u1100\u1161\u11a8", "ﬁ", "İ", "ẞ", "ǅ"),
    *("👩‍👩‍👧‍👦", "🇩🇪", "🏴\U000e0067\U000e0062\U000e007f", "1️⃣", "𝕬", "①", "٣", "½"),
    *("<b>", "</b>", "<br/>", "<a href='x'>", "</a>", "<!--", "-->", "<script>", "</p>", "<"),
    *(">", "&", "&amp;", "&#0;", "&#xd800;", "&nbsp;", "{x}", "%s", "$1", "{{a}}", "${b}", "\\n"),
    *("https://a.b/c?d=e&f", "a@b.c", "C:\\a", "1.000,5", "24.12.", "Dr.", "。", "…", "?!", "¿"),
    *("你好", "学生", "hello", "house", "Haus", "བོད་", "שלום", "مرحبا", "ไทย", "देवनागरी"),
)
"""Marks of direction, invisible and control characters, combining marks, markup, kept strings."""

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
texts = st.lists(st.one_of(st.sampled_from(HOSTILE), plain), max_size=12).map("".join)
long_texts = st.builds(
    lambda piece, times: piece * times,
    st.one_of(
        st.sampled_from(HOSTILE),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    ),
    st.integers(1, 2000),
)
any_text = st.one_of(texts, texts, texts, long_texts)
