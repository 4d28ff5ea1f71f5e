"""LaTeX: texts are translated, and pylatexenc finds the same commands and formulas in the
translation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexCommentNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexSpecialsNode,
    LatexWalker,
)

from service.documents.segments import FileOptions
from service.translation.markup.coded_text import CodedText, Text
from tests.service.documents.samples import OPTIONS, capitals, parse_file, translated

CHINESE = FileOptions("en", "zh")
BODY = (
    "\\documentclass{{article}}\n\\newcommand\\own[1]{{one #1}}\n\\title{{two}}\n"
    "\\begin{{document}}\n{}\n\\end{{document}}\nthree\n"
)
WRITTEN = {
    "one\ntwo % three\nfour\n\nfive": "ONE TWO % three\nFOUR\n\nFIVE",
    "one%\n  two": "ONETWO",
    "one % two\n\nthree": "ONE % two\n\nTHREE",
    "\\section*{one}\\label{two}\nthree": "\\section*{ONE}\\label{two}\nTHREE",
    "\\section[one]{two $x$}": "\\section[ONE]{TWO $x$}",
    "\\caption [one] {two}": "\\caption [ONE] {TWO}",
    "one \\emph{two \\textbf{three}} four": "ONE \\emph{TWO \\textbf{THREE}} FOUR",
    "one {\\em two} {\\small\\bf three}": "ONE {\\em TWO} {\\small\\bf THREE}",
    "one~\\cite[p.~2]{two}, \\ref{three}.": "ONE~\\cite[p.~2]{two}, \\ref{three}.",
    "one\\footnote{two \\emph{three}} four": "ONE\\footnote{TWO \\emph{THREE}} FOUR",
    "one.\\footnote{two\n\nthree}": "ONE.\\footnote{TWO\n\nTHREE}",
    "one \\[ two \\] three": "ONE \\[ two \\] THREE",
    "one \\(two\\) three $$four$$": "ONE \\(two\\) THREE $$four$$",
    "5\\,km 3\\% \\& \\_ \\#1 one": "5\\,KM 3\\% \\& \\_ \\#1 ONE",
    "``one'' -- two---three\\dots": "``ONE'' -- TWO---THREE\\ldots{}",
    "Gr\\\"o\\ss e, \\'{e}t\\'e, na\\\"{\\i}ve": "GRÖSSE, ÉTÉ, NAÏVE",
    "\\LaTeX\\ one \\LaTeX{} two \\own, three": "\\LaTeX{} ONE \\LaTeX{} TWO \\own, THREE",
    "one \\texttt{two three} \\verb|four| \\url{five six}": (
        "ONE \\texttt{two three} \\verb|four| \\url{five six}"
    ),
    "\\href{one}{two} \\textcolor{three}{four}": "\\href{one}{TWO} \\textcolor{three}{FOUR}",
    "one \\unknown{two} \\other{three four} \\third{a=b c}": (
        "ONE \\unknown{two} \\other{THREE FOUR} \\third{a=b c}"
    ),
    "\\set{one}{two three}\n\\set{four}{five}\n\nsix": (
        "\\set{one}{TWO THREE}\n\\set{four}{five}\n\nSIX"
    ),
    "\\begin{itemize}\n\\item one\n\\item[two] three\n\\end{itemize}": (
        "\\begin{itemize}\n\\item ONE\n\\item[TWO] THREE\n\\end{itemize}"
    ),
    "\\begin{tabular}{l}\\hline one & 2 \\\\[2pt]\n\\multicolumn{2}{c}{three} \\\\\\end{tabular}": (
        "\\begin{tabular}{l}\\hline ONE & 2 \\\\[2pt]\n"
        "\\multicolumn{2}{c}{THREE} \\\\\\end{tabular}"
    ),
    "\\begin{figure}[ht]\n\\includegraphics[width=1cm]{one}\n\\caption{two}\n\\end{figure}": (
        "\\begin{figure}[ht]\n\\includegraphics[width=1cm]{one}\n\\caption{TWO}\n\\end{figure}"
    ),
    "\\begin{theorem}[one two]\nthree\n\\end{theorem}": (
        "\\begin{theorem}[ONE TWO]\nTHREE\n\\end{theorem}"
    ),
    "\\begin{frame}{one}\ntwo\n\\end{frame}": "\\begin{frame}{ONE}\nTWO\n\\end{frame}",
    "\\begin{equation}\none\n\\end{equation}\ntwo": "\\begin{equation}\none\n\\end{equation}\nTWO",
    "\\begin{lstlisting}\none % {\n\\end{lstlisting}": (
        "\\begin{lstlisting}\none % {\n\\end{lstlisting}"
    ),
    "\\begin{tikzpicture}\\node {one};\\end{tikzpicture}": (
        "\\begin{tikzpicture}\\node {one};\\end{tikzpicture}"
    ),
    "\\newcommand{\\x}[1]{one two #1} three": "\\newcommand{\\x}[1]{one two #1} THREE",
    "\\def\\x#1{one two} three": "\\def\\x#1{one two} THREE",
    "{one\n\ntwo}": "{ONE\n\nTWO}",
    "$one": "$ONE",
    "one } two": "ONE } TWO",
}


@pytest.mark.parametrize("source", WRITTEN)
def test_texts_are_translated_and_commands_stay(source: str) -> None:
    assert translated("a.tex", source.encode()).decode() == WRITTEN[source]
    whole = BODY.format(source)
    written = BODY.format(WRITTEN[source]).replace("{two}\n\\begin{d", "{TWO}\n\\begin{d")
    assert translated("a.tex", whole.encode()).decode() == written


def test_a_translation_is_spelled_as_latex_reads_it() -> None:
    written = written_as("one", "50% & $3 {a}_b^~\\ – “c” … [d]\u00a0e")
    assert written == (
        "50\\% \\& \\$3 \\{a\\}\\_b\\textasciicircum{}\\textasciitilde{}\\textbackslash{} -- ``c'' "
        "\\ldots{} [d]~e"
    )
    assert written_as("\\item one", "[two]") == "\\item {[}two]"
    assert written_as("one", "“一”——二…", CHINESE) == "“一”——二…"


def written_as(source: str, translation: str, options: FileOptions = OPTIONS) -> str:
    parsed = parse_file(source.encode(), "a.tex", options)
    return parsed.write([CodedText.of([translation])]).decode()


WORDS = st.text(
    st.sampled_from("ab𝐇e\u0301中👍\\~^_#$%&{}[]<>@!?|-–—„“”‘…`,'\u00a0\u202f "), min_size=1
)


@given(WORDS, st.sampled_from(["one", "\\section{one}", "one & 2", "\\item[one] 2"]))
def test_any_translation_is_read_again_as_it_is(words: str, source: str) -> None:
    translation = f"A{words}B"
    read = parse_file(written_as(source, translation).encode(), "a.tex", OPTIONS).segments[0].text
    assert isinstance(read, CodedText)
    assert " ".join(read.read().split(" ")) == translation


def test_the_main_language_of_babel_becomes_the_target() -> None:
    source = "\\usepackage[{}]{{babel}}\n\\begin{{document}}one\\end{{document}}"
    for options in ("english", "french,english", "T1,main=english"):
        written = translated("a.tex", source.format(options).encode(), FileOptions("en", "de"))
        assert written.decode() == source.format(options.replace("english", "ngerman")).replace(
            "one", "ONE"
        )
    unknown = source.format("english").encode()
    assert b"[english]" in translated("a.tex", unknown, CHINESE)


def test_an_old_encoding_is_kept_or_becomes_utf_8() -> None:
    source = "\\usepackage[latin1]{inputenc}\n\\begin{document}Größe\\end{document}"
    parsed = parse_file(source.encode("latin-1"), "a.tex", FileOptions("de", "en"))
    for translation, encoding in (("Café", "latin1"), ("大", "utf8")):
        written = source.replace("latin1", encoding).replace("Größe", translation)
        assert parsed.write([CodedText.of([translation])]) == written.encode(encoding)


BLOCKS = (
    *WRITTEN,
    "\\begin{quote}one\n\n\\begin{center}two\\end{center}\\end{quote}",
    "\\parbox[t]{2cm}{one two}",
    "\\begin{description}\\item[one] two\\end{description}",
    "{\\Large one \\\\ two}\\vspace{1cm}",
    "\\begin{align*} a &= b \\\\ \\text{one} \\end{align*}",
    "\\noindent one\\index{two!three} \\textsuperscript{four}",
)


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=4), st.booleans())
def test_the_structure_is_that_of_the_source(blocks: list[str], is_chinese: bool) -> None:
    source = BODY.format("\n\n".join(block for block in blocks if "$one" not in block))
    options = CHINESE if is_chinese else OPTIONS
    parsed = parse_file(source.encode(), "a.tex", options)
    change = chinese if is_chinese else capitals
    written = parsed.write([change(segment.text) for segment in parsed.segments]).decode()
    assert structure(written) == structure(source)


def chinese(text: Text) -> Text:
    """The text with a character for each letter, and no spaces."""
    assert isinstance(text, CodedText)
    return CodedText.of(
        "".join("中" if char.isalpha() else char.strip() for char in part)
        if isinstance(part, str)
        else part
        for part in text.parts
    )


def structure(source: str) -> list[str]:
    nodes, _, _ = LatexWalker(source, tolerant_parsing=True).get_latex_nodes()
    return list(_structure(nodes))


def _structure(nodes: Sequence[Any]) -> Iterator[str]:
    for node in nodes:
        if node is None or isinstance(node, LatexCharsNode | LatexCommentNode | LatexSpecialsNode):
            continue
        if isinstance(node, LatexMacroNode):
            if node.macroname in SPELLED:
                continue
            yield f"\\{node.macroname}"
            yield from _structure(node.nodeargd.argnlist if node.nodeargd else [])
        elif isinstance(node, LatexGroupNode):
            inside = list(_structure(node.nodelist))
            yield from ["{", *inside, "}"] if node.nodelist else []
        elif isinstance(node, LatexEnvironmentNode):
            yield f"begin {node.environmentname}"
            yield from _structure(node.nodelist)
        else:
            yield node.latex_verbatim()


SPELLED = frozenset({"dots", "ldots", '"', "'", "ss", "i", " ", ",", "%", "&", "_", "#"})
"""Commands that are characters."""


@pytest.mark.parametrize("shape", ["{", "[", "$", "\\(", "\\[", "\\begin{align}", "\\a{", "\\a["])
def test_what_has_no_end_stays(shape: str) -> None:
    for source in (f"one {shape} two", f"one {shape * 50} two", shape * 50):
        assert translated("a.tex", source.encode()).decode().lower() == source.lower()
