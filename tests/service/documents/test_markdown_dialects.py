"""What MyST, Pandoc, R Markdown and makers of sites add to Markdown: texts are translated, while
names, options, code and lines stay."""

from __future__ import annotations

import pytest

from tests.service.documents.samples import (
    OPTIONS,
    capitals,
    coded,
    parse_file,
    texts_of,
    translated,
)

FRONT_MATTER = {
    "---\ntitle: one two\ntags: [a b]\nhero:\n  tagline: >-\n    three\n    four\n---\nfive\n": (
        "---\ntitle: ONE TWO\ntags: [a b]\nhero:\n  tagline: >-\n    THREE FOUR\n---\nFIVE\n"
    ),
    "---\r\nDescription: 'it''s one'\r\nlayout: a b\r\n...\r\n": (
        "---\r\nDescription: 'IT''S ONE'\r\nlayout: a b\r\n...\r\n"
    ),
    '+++\ntitle = "one \\"two\\""\nlayout = "a b"\n+++\n': (
        '+++\ntitle = "ONE \\"TWO\\""\nlayout = "a b"\n+++\n'
    ),
    "+++\ntitle = 'one \"a\\'\nsummary = '''\none\ntwo'''\n\ntext = \"\"\"one\"\"\" #\n+++\n": (
        '+++\ntitle = "ONE \\"A\\\\"\nsummary = "ONE\\nTWO"\n\ntext = "ONE" #\n+++\n'
    ),
    "---\ntitle: [{{ one\n---\ntwo\n": "---\ntitle: [{{ one\n---\nTWO\n",
    "---\ntitle: get-started\nlink: a\n---\n": "---\ntitle: get-started\nlink: a\n---\n",
}
DIRECTIVES = {
    "(a/one)=\n# one\n": "(a/one)=\n# ONE\n",
    "```{note} one *two*\n:class: drop down\nthree\nfour\n```\nfive\n": (
        "```{note} ONE *TWO*\n:class: drop down\nTHREE FOUR\n```\nFIVE\n"
    ),
    "````{tip}\none\n```{code} a b\ncode here\n```\n\ntwo\n````\n": (
        "````{tip}\nONE\n```{code} a b\ncode here\n```\n\nTWO\n````\n"
    ),
    "- ```{warning}\n  one\n  two\n  ```\n- three\n": (
        "- ```{warning}\n  ONE TWO\n  ```\n- THREE\n"
    ),
    "::::{grid} a b\n:c: one two\n\n:::{card} one\n:link: a b\n:alt: two\nthree\n:::\n::::\n": (
        "::::{grid} a b\n:c: one two\n\n:::{card} ONE\n:link: a b\n:alt: TWO\nTHREE\n:::\n::::\n"
    ),
    ":::{code-block} a b\none\n:::\ntwo\n": ":::{code-block} a b\none\n:::\nTWO\n",
    "```{figure} a.png\n---\nname: one\n---\ntwo\n```\n": (
        "```{figure} a.png\n---\nname: one\n---\nTWO\n```\n"
    ),
    "```{code-cell} a b\none two\n```\n": "```{code-cell} a b\none two\n```\n",
    "{.one}\ntwo\nthree\n": "{.one}\nTWO THREE\n",
    "% one\n\ntwo\n% three\n\n+++ {'a': 'b'}\n": "% one\n\nTWO\n% three\n\n+++ {'a': 'b'}\n",
    "see {ref}`one two <a>` or {doc}`one <b>`\n": "SEE {ref}`ONE TWO <a>` OR {doc}`ONE <b>`\n",
    "see {ref}`one` or {kbd}`one <a>`\n": "SEE {ref}`one` OR {kbd}`one <a>`\n",
}
TABLES = {
    "+-----+---+\n| one | a |\n+=====+===+\n| two | b |\n+-----+---+\n\nthree\n": (
        "+-----+---+\n| one | a |\n+=====+===+\n| two | b |\n+-----+---+\n\nTHREE\n"
    ),
    "  one    two\n-----  -----\n   a      b\n   c      d\n\n: three\n": (
        "  one    two\n-----  -----\n   a      b\n   c      d\n\n: THREE\n"
    ),
    "-------------\none    two\n-----  -----\na b    c\n\nd      e\n-------------\n\nthree\n": (
        "-------------\none    two\n-----  -----\na b    c\n\nd      e\n-------------\n\nTHREE\n"
    ),
    "one\n-----\n\n- - -\n": "ONE\n-----\n\n- - -\n",
    "| one\n| two\n": "| ONE\n| TWO\n",
}
CAPTIONS = {
    "|a|\n|-|\n|b|\n\nTable: one\ntwo {#t}\n": "|A|\n|-|\n|B|\n\nTable: ONE TWO {#t}\n",
    "table: one\n\none    two\n-----  -----\na      b\n": (
        "table: ONE\n\none    two\n-----  -----\na      b\n"
    ),
    "Table: one\n\ntwo\n": "TABLE: ONE\n\nTWO\n",
}
BLOCKS = {
    "/// note | one *two*\n    open: True\n    type: a b\n\nthree\nfour\n///\nfive\n": (
        "/// note | ONE *TWO*\n    open: True\n    type: a b\n\nTHREE FOUR\n///\nFIVE\n"
    ),
    "|a|\n|-|\n\n/// caption | <\none\n///\n": "|A|\n|-|\n\n/// caption | <\nONE\n///\n",
    "/// html | div.a\n//// tab | one\n- two\n////\n\n///\nthree\n": (
        "/// html | div.a\n//// tab | ONE\n- TWO\n////\n\n///\nTHREE\n"
    ),
    "///tip\none\n///\n\n/// two\n": "///tip\nONE\n///\n\n/// TWO\n",
}
LINES = {
    "## name {#name}\n": "## NAME {#name}\n",
    "name\n{: #name}\n": "NAME\n{: #name}\n",
    ":::tip[tip]{.tip}\none\n:::\n": ":::tip[TIP]{.tip}\nONE\n:::\n",
    "# 1. one\n\n## - two\n": "# 1. ONE\n\n## - TWO\n",
    "> [!tip] one \n> two\n": "> [!tip] ONE \n> TWO\n",
    "one\n</A>\n<A b='c'>\ntwo\nthree\n": "ONE\n</A>\n<A b='c'>\nTWO THREE\n",
    "![one *two*](a.png)\n\n![three](a.png 'b'){.c}\nfour ![five](b.png)\n": (
        "![one *two*](a.png)\n\n![THREE](a.png 'b'){.c}\nFOUR ![five](b.png)\n"
    ),
    '![](a.png){#b fig-alt="one two" width=50%}\n\n![three](a.png){fig-alt="four"}\n': (
        '![](a.png){#b fig-alt="ONE TWO" width=50%}\n\n![THREE](a.png){fig-alt="FOUR"}\n'
    ),
    "```{r, a='`b`'}\none\n\ntwo\n```\nthree\n": "```{r, a='`b`'}\none\n\ntwo\n```\nTHREE\n",
    "```` ```{a} ```` one\n": "```` ```{a} ```` ONE\n",
    "!!!note\n    one\n": "!!!note\n    ONE\n",
    "(ref:one) two \\@ref(fig:one)\n": "(ref:one) TWO \\@ref(fig:one)\n",
    "one\n{.a} two\n": "ONE {.a} TWO\n",
    "> one\n> $$\n> x % y\n> $$\n> two\n> three $$z$$ four\n": (
        "> ONE\n> $$\n> x % y\n> $$\n> TWO THREE $$z$$ FOUR\n"
    ),
    "a [one](b)[two](c) <i>three</i><i>four</i>\n": "A [ONE](b)[TWO](c) <i>THREE</i><i>FOUR</i>\n",
    "[Demo]: javascript:a('b')\n\n[one](file:///c:/d)\n": (
        "[Demo]: javascript:a('b')\n\n[ONE](file:///c:/d)\n"
    ),
    "one <div>two</div><div>three</div>\n": "ONE <div>TWO</div><div>THREE</div>\n",
    "{{< code-toggle a=b />}}\n\none\n\n{{< code-toggle >}}\na\n{{< /code-toggle >}}\n": (
        "{{< code-toggle a=b />}}\n\nONE\n\n{{< code-toggle >}}\na\n{{< /code-toggle >}}\n"
    ),
    "one\n{* a/b c.py d[1,2] *}\n": "ONE\n{* a/b c.py d[1,2] *}\n",
    '{$A.B:"{#c}"} one {$d} two {$E:"{#f}"} $g$\n': '{$A.B:"{#c}"} ONE {$d} TWO {$E:"{#f}"} $g$\n',
    "> one^[two *three*\n> four] five\n>\n> ^[six^[seven]]\n": (
        "> ONE^[TWO *THREE* FOUR] FIVE\n>\n> ^[SIX^[SEVEN]]\n"
    ),
}
LEARN = {
    ':::image type="content" source="one.png" alt-text="one two":::\n': (
        ':::image type="content" source="one.png" alt-text="ONE TWO":::\n'
    ),
    '> [!div class="one"]\n> [two](three.md)\n': '> [!div class="one"]\n> [TWO](three.md)\n',
    "> [!VIDEO https://one.com/two]\n\nthree\n": "> [!VIDEO https://one.com/two]\n\nTHREE\n",
    "one [!INCLUDE [two](../a.md)] three [!include[two](a.md)]\n": (
        "ONE [!INCLUDE [two](../a.md)] THREE [!include[two](a.md)]\n"
    ),
    "[!code-csharp[one](a.cs?two=3)]\n\none\n": "[!code-csharp[one](a.cs?two=3)]\n\nONE\n",
}
ATTRIBUTES = {
    "{{< figure src='a b' caption=\"one *two*\" >}}\n": (
        "{{< figure src='a b' caption=\"ONE *TWO*\" >}}\n"
    ),
    '{% include a.html text="one" id="two" %}\n': '{% include a.html text="ONE" id="two" %}\n',
    '::: {.a title="one two" b="c d"}\nthree\n:::\n': (
        '::: {.a title="ONE TWO" b="c d"}\nTHREE\n:::\n'
    ),
    '{{< b title="a.png" >}}\n': '{{< b title="a.png" >}}\n',
}
CHUNKS = {
    '```{r}\n#| label: a b\n#| fig-cap: "one"\n#| fig-alt: |\n#|   two\n#|   three\nx\n```\n': (
        '```{r}\n#| label: a b\n#| fig-cap: "ONE"\n#| fig-alt: |\n#|   TWO\n#|   THREE\nx\n```\n'
    ),
    "- ```{ojs}\n  //| title: one\n  //| echo: a\n  // b\n  ```\n": (
        "- ```{ojs}\n  //| title: ONE\n  //| echo: a\n  // b\n  ```\n"
    ),
    "```{r a, fig.cap='one two', fig.alt = \"three\"}\nx\n```\n": (
        "```{r a, fig.cap='ONE TWO', fig.alt = \"THREE\"}\nx\n```\n"
    ),
    "```{r, fig.cap='(ref:a)'}\n#| fig-cap: a-b\n```\n": (
        "```{r, fig.cap='(ref:a)'}\n#| fig-cap: a-b\n```\n"
    ),
    "```r\n#| fig-cap: one two\n```\n": "```r\n#| fig-cap: one two\n```\n",
}
NESTED = {
    "- one\n\n  <p>\n  two\n  </p>\n- <p>three</p>\n": (
        "- ONE\n\n  <p>\n  TWO\n  </p>\n- <p>THREE</p>\n"
    ),
    "> <p>one\n> two</p>\n": "> <p>one\n> two</p>\n",
}


@pytest.mark.parametrize(
    "source",
    [
        *(*FRONT_MATTER, *DIRECTIVES, *TABLES, *CAPTIONS, *BLOCKS, *LINES),
        *(*LEARN, *ATTRIBUTES, *CHUNKS, *NESTED),
    ],
)
def test_only_texts_change(source: str) -> None:
    known = (
        FRONT_MATTER
        | DIRECTIVES
        | TABLES
        | CAPTIONS
        | BLOCKS
        | LINES
        | LEARN
        | ATTRIBUTES
        | CHUNKS
        | NESTED
    )
    assert translated("a.md", source.encode()).decode() == known[source]


@pytest.mark.parametrize(
    "kept",
    [
        *("{{ year }}", '{{< ref "x" >}}', "{% var x %}", "{# one #}", "\\@ref(a)", "(ref:a)"),
        *("[[page]]", "++ctrl++", "\\(x\\)", "[!INCLUDE [a](b)]", "{ref}`a`", ":tada:", "$x$"),
    ],
)
@pytest.mark.parametrize("sentence", ["In {}, it was sold.", "# See {}, then go", "{} is it"])
def test_what_stays_does_not_cut_its_sentence(kept: str, sentence: str) -> None:
    source = sentence.format(kept)
    assert texts_of("a.md", source.encode()) == [source.removeprefix("# ")]


def test_an_element_of_html_in_the_middle_of_a_sentence_does_not_cut_it() -> None:
    lines = "press <button>it</button>, then <input> it\n\n<label>one</label> <input>\n"
    expected = ["press <0>it</0>, then <1/> it", "<0|>one<1|> <2|>"]
    assert texts_of("a.md", lines.encode()) == expected


def test_an_expression_does_not_cut_its_sentence_in_mdx() -> None:
    assert texts_of("a.mdx", b"In {a.b}, it\n{'c'} was") == ["In {a.b}, it {'c'} was"]


def test_comments_and_lines_of_tags_stay_in_mdx() -> None:
    source = "one\n<!-- a -->\ntwo\n\t</A>\n\t<A b={() => c}>\n\tthree\n"
    expected = "ONE\n<!-- a -->\nTWO\n\t</A>\n\t<A b={() => c}>\n\tTHREE\n"
    assert translated("a.mdx", source.encode()).decode() == expected


def test_texts_in_attributes_are_translated_in_mdx() -> None:
    source = '<A title="one two" b="c d">\n\tthree\n</A>\n\n<B\n  label="four"\n  value="e"\n/>\n'
    expected = '<A title="ONE TWO" b="c d">\n\tTHREE\n</A>\n\n<B\n  label="FOUR"\n  value="e"\n/>\n'
    assert translated("a.mdx", source.encode()).decode() == expected


def test_a_quotation_mark_does_not_end_an_attribute() -> None:
    parsed = parse_file(b'<A title="one"/>\n', "a.mdx", OPTIONS)
    assert parsed.write([coded('2. "one"')]) == b"<A title=\"2. 'one'\"/>\n"


def test_a_large_block_of_html_is_translated_in_parts() -> None:
    source = "<p>one</p>\n" * 3000 + "\ntwo\n"
    parsed = parse_file(source.encode(), "a.md", OPTIONS)
    assert max(len(segment.text) for segment in parsed.segments) < 3000
    assert translated("a.md", source.encode()).decode() == source.replace("one", "ONE").replace(
        "two", "TWO"
    )


def test_a_quotation_mark_does_not_end_an_attribute_of_a_picture() -> None:
    parsed = parse_file(b'![one](a.png){fig-alt="two"}\n', "a.md", OPTIONS)
    done = parsed.write([coded('<0|>3. "one"<1|>a "b"<2|>')])
    assert done == b'![3. "one"](a.png){fig-alt="a \'b\'"}\n'


def test_the_number_of_a_note_is_a_superscript() -> None:
    content = b"one<sup>[1](#a)</sup> H<sub>2</sub>O <b>two</b>\n"
    assert texts_of("a.md", content) == [
        "one<^0><1>1</1></0> H<^2>2</2>O <3>two</3>",
    ]


def test_a_note_within_a_sentence_is_a_text_of_its_own() -> None:
    parsed = parse_file(b"One^[two *three*] four.\n", "a.md", OPTIONS)
    assert texts_of("a.md", b"One^[two *three*] four.\n") == ["One<0/> four.", "two <0>three</0>"]
    outer, note = (segment.text for segment in parsed.segments)
    done = [
        parsed.write(texts).decode() for texts in ([capitals(outer), note], [outer, coded("X")])
    ]
    assert done == ["ONE^[two *three*] FOUR.\n", "One^[X] four.\n"]


@pytest.mark.parametrize("name", ["Note", "Image", "Space", "Comment", "Attributes"])
@pytest.mark.parametrize("source", ["one *two*\n</{}>\n", "one *two*<{} a=b /> three\n"])
def test_an_element_named_as_a_mark_is_as_any_other(name: str, source: str) -> None:
    done, other = (translated("a.md", source.format(one).encode()) for one in (name, "X"))
    assert done == other.replace(b"X", name.encode())


def test_the_fence_of_a_directive_ends_where_it_is_no_code() -> None:
    source = "```{note}\none\n\n    ```\n    two\n    ```\n\nthree\n```\nfour\n"
    assert texts_of("a.md", source.encode()) == ["one", "three", "four"]


@pytest.mark.parametrize(
    ("source", "expected"), [("一[^1]，二\n", "a[^1], b\n"), ("a [^1] b", "a [^1] b")]
)
def test_the_mark_of_a_note_touches_the_word_that_it_touched(source: str, expected: str) -> None:
    parsed = parse_file(source.encode(), "a.md", OPTIONS)
    done = "a <0/>, b" if "，" in source else "a <0/> b"
    assert parsed.write([coded(done)]).decode() == expected
