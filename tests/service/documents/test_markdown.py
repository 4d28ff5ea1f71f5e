"""Markdown: blocks and marks stay, texts are translated whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from service.translation.markup.coded_text import CodedText, Text
from tests.service.documents.samples import OPTIONS, coded, parse_file, translated

ROOT = Path(__file__).parents[3]
MODULE = "import A from './a'\nimport {\n  B\n} from 'b'\n\nexport const c = {\n\n  d\n}"
PARTS = {
    "a *b* c": "A *B* C",
    "a **b *c* d** e": "A **B *C* D** E",
    "snake_case_name and _one_": "SNAKE_CASE_NAME AND _ONE_",
    "2 * 3 * 4 is": "2 * 3 * 4 IS",
    "a ~~b~~ c": "A ~~B~~ C",
    "unpaired ** here": "UNPAIRED ** HERE",
    "see [the page](http://a.b/(c) 'T') now": "SEE [THE PAGE](http://a.b/(c) 'T') NOW",
    "see [a [b] c](d)": "SEE [A [B] C](d)",
    "[no link] here": "[NO LINK] HERE",
    "an ![image](a.png) here": "AN ![image](a.png) HERE",
    "[![badge](a.png)](b) text": "[![badge](a.png)](b) TEXT",
    "run `code *x*` now": "RUN `code *x*` NOW",
    "run ``a ` b`` now": "RUN ``a ` b`` NOW",
    "at <https://a.b/c> or <a@b.c>": "AT <https://a.b/c> OR <a@b.c>",
    "a<br>b <b>c</b> <img src=x>d": "A<br>B <b>C</b> <img src=x>D",
    "\\*a\\* &amp; b & c &lt;d&gt; < e": "\\*A\\* &amp; B & C &lt;D&gt; < E",
    "note[^1] here[^2](one two) [^a](b)": "NOTE[^1] HERE[^2](ONE TWO) [^A](b)",
    "a <!-- comment --> b": "A <!-- comment --> B",
    "a $x_i^2$ b costs $5 and $6": "A $x_i^2$ B COSTS $5 AND $6",
    "set *$HOME/a*, `$B` and $x$ now": "SET *$HOME/A*, `$B` AND $x$ NOW",
    "see [$a]($b#$a), $`c`$ now": "SEE [$A]($b#$a), $`c`$ NOW",
    "see [[a page]] and [[a page|the *text*]]": "SEE [[a page]] AND [[a page|THE *TEXT*]]",
    "an ![[old file.png]] here": "AN ![[old file.png]] HERE",
    "a [[b]](u) c": "A [[B]](u) C",
    "==a *b*== c, a == b": "==A *B*== C, A == B",
    "is :material-check:{ .lg } done :tada:": "IS :material-check:{ .lg } DONE :tada:",
    "[a](b){ .c } *d*{#e} `f`{.g} [h i]{lang=de}": "[A](b){ .c } *D*{#e} `f`{.g} [H I]{lang=de}",
    "[a]({{ site.url }}/b) {% if c_d %}e": "[A]({{ site.url }}/b) {% if c_d %}E",
    "press ++ctrl+alt++ \\(x_1\\) $$y z$$": "PRESS ++ctrl+alt++ \\(x_1\\) $$y z$$",
    "a^[a *note*] ^^b^^": "A^[A *NOTE*] ^^B^^",
    "[a `b`][there] x[i][j] [a][b](c)": "[A `b`][there] X[I][J] [A][B](c)",
    "5&nbsp;km \u00a0a&nbsp;&nbsp; b\u202fc": "5&nbsp;KM \u00a0A&nbsp;&nbsp; B\u202fC",
    "a <kbd>Ctrl *a*</kbd> <b translate=no>c</b>": "A <kbd>Ctrl *a*</kbd> <b translate=no>c</b>",
    "a {++b *c*++} {--d--} {==e==}{>>f g<<} h": "A {++B *C*++} {--D--} {==E==}{>>f g<<} H",
    "a {>>b c<<} d {~~e~>f~~} g": "A {>>b c<<} D {~~e~>f~~} G",
    "text {.note}": "TEXT {.note}",
    "text ^block-id": "TEXT ^block-id",
}
BLOCKS = {
    "# Title #\n": "# TITLE #\n",
    "Title\n---\n": "TITLE\n---\n",
    "one\ntwo\r\nthree\n": "ONE TWO THREE\n",
    "今天很好，\n我们去\nabc": "今天很好，我们去 ABC",
    "> **Note**\n> one\n> two\n": "> **NOTE**\n> ONE TWO\n",
    "![a](b.png)\n*one*\ntwo": "![A](b.png)\n*ONE* TWO",
    "__One *two*__:\nthree": "__ONE *TWO*__: THREE",
    "**one** and\n**two**\nthree": "**ONE** AND **TWO**\nTHREE",
    "one  \ntwo\\\nthree": "ONE  \nTWO\\\nTHREE",
    "> one\n> two\n>\n> - three\n>   four\n": "> ONE TWO\n>\n> - THREE FOUR\n",
    "- [x] done\n- [ ] not\n": "- [x] DONE\n- [ ] NOT\n",
    "1. one\n\n   two\n": "1. ONE\n\n   TWO\n",
    "|a|b|\n|-|-|\n|a|a|\n| c | `d` |\n": "|A|B|\n|-|-|\n|A|A|\n| C | `d` |\n",
    "```\ncode\n```\ntext\n": "```\ncode\n```\nTEXT\n",
    "~~~ sh\ncode\n": "~~~ sh\ncode\n",
    "    code\n\ntext": "    code\n\nTEXT",
    "<div>\n<p>one</p>\n</div>\n\ntwo": "<div>\n<p>ONE</p>\n</div>\n\nTWO",
    "---\na: b\n---\ntext": "---\na: b\n---\nTEXT",
    "+++\na = 1\n+++\ntext": "+++\na = 1\n+++\nTEXT",
    "[a]: b 'c'\n\nsee [a]": "[a]: b 'c'\n\nSEE [A][a]",
    "see [x][a] [a][]\n\n[a]: b": "SEE [X][a] [A][a]\n\n[a]: b",
    "***\n\n---\n": "***\n\n---\n",
    "> [!NOTE]\n> one\n> two\n": "> [!NOTE]\n> ONE TWO\n",
    '!!! note "Title"\n    one\n    two\n\n    - three\n\nfour': (
        '!!! note "TITLE"\n    ONE TWO\n\n    - THREE\n\nFOUR'
    ),
    "!!! tip inline end\n    one\n": "!!! tip inline end\n    ONE\n",
    '=== "Tab"\n\n    one\n\n    ```\n    code\n    ```\n': (
        '=== "TAB"\n\n    ONE\n\n    ```\n    code\n    ```\n'
    ),
    "::: warning\none\n:::\ntwo": "::: warning\nONE\n:::\nTWO",
    "$$\nx = y\n$$\n\ntext": "$$\nx = y\n$$\n\nTEXT",
    "Term\n: one\n  two\n": "TERM\n: ONE TWO\n",
    "|a|b|\n|-|-|\n|`x\\|y`|c \\| d|\n": "|A|B|\n|-|-|\n|`x\\|y`|C \\| D|\n",
    "a[^1]\n\n[^1]: one\ntwo\n[^2]:\n    a\n\n    b\n": (
        "A[^1]\n\n[^1]: ONE TWO\n[^2]:\n    A\n\n    B\n"
    ),
    "see [a]{.x}, [[a]]\n\n[a]: b": "SEE [A][a]{.x}, [[A][a]]\n\n[a]: b",
    "|a|\n|-|\n|[[b\\|c]]|\n": "|A|\n|-|\n|[[b\\|C]]|\n",
    "# Title {#the-id}\n\n# `a`b {/* #c */}\n": "# TITLE {#the-id}\n\n# `a`B {/* #c */}\n",
    "one\ntwo\n{: .note }\n": "ONE TWO\n{: .note }\n",
    "|a|\n|-|\n|b|\n\n^table\n": "|A|\n|-|\n|B|\n\n^table\n",
    "> [!tip]- A *title*\n> one\n> two\n": "> [!tip]- A *TITLE*\n> ONE TWO\n",
    "> [!my-kind|x] title\n> - one\n": "> [!my-kind|x] TITLE\n> - ONE\n",
    "::: tip A *title*\none\n:::\n": "::: tip A *TITLE*\nONE\n:::\n",
    ":::tip[A [title]]{.x}\none\n:::\n": ":::tip[A [TITLE]]{.x}\nONE\n:::\n",
    "::: tabs key:os\n\n::: {.a}\n\n:::row:::\n": "::: tabs key:os\n\n::: {.a}\n\n:::row:::\n",
    f"{MODULE}\n\nimport it\n": f"{MODULE}\n\nIMPORT IT\n",
    "{% raw %}\none\n{{< x y >}}\ntwo\n": "{% raw %}\nONE\n{{< x y >}}\nTWO\n",
    "*[A]: one\n*[B]: two\n\n[TOC]\n\n[[toc]]\n": "*[A]: ONE\n*[B]: TWO\n\n[TOC]\n\n[[toc]]\n",
    "{{< img\n  src=a\n\n  alt='b'\n>}}\none\n": "{{< img\n  src=a\n\n  alt='b'\n>}}\nONE\n",
    "{%\n  include a.html b='c'\n%}\n\n{{ one\n": "{%\n  include a.html b='c'\n%}\n\n{{ ONE\n",
    "see [a]<!-- b --> c\n\n[a]: d": "SEE [A][a]<!-- b --> C\n\n[a]: d",
    "[a]: {% link b.md %}\n\nsee [a]\n": "[a]: {% link b.md %}\n\nSEE [A][a]\n",
    "{{< code-toggle >}}\na = b\n\nc\n{{< /code-toggle >}}\nd": (
        "{{< code-toggle >}}\na = b\n\nc\n{{< /code-toggle >}}\nD"
    ),
    "{% highlight %}\na\n{% endhighlight %}\n": "{% highlight %}\na\n{% endhighlight %}\n",
    "one\n\\[\nx\n\\]\n\n\\begin{a*}\n\nx\n\\end{a*}\n": (
        "ONE\n\\[\nx\n\\]\n\n\\begin{a*}\n\nx\n\\end{a*}\n"
    ),
    "%%\na comment\n\nb\n%%\nc\n": "%%\na comment\n\nb\n%%\nC\n",
    '--8<-- "a.md"\n\n<<< @/a.js\n': '--8<-- "a.md"\n\n<<< @/a.js\n',
    "": "",
}


@pytest.mark.parametrize("source", [*PARTS, *BLOCKS])
def test_only_texts_change(source: str) -> None:
    expected = {**PARTS, **BLOCKS}[source]
    assert translated("a.md", source.encode()).decode() == expected


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("3. Mai", "3\\. Mai\n"),
        ("- dash", "\\- dash\n"),
        ("# sharp", "\\# sharp\n"),
        ("> more", "\\> more\n"),
        ("+49 is", "+49 is\n"),
        ("3.5 is", "3.5 is\n"),
    ],
)
def test_a_translation_does_not_begin_another_block(translation: str, expected: str) -> None:
    parsed = parse_file(b"text\n", "a.md", OPTIONS)
    assert parsed.write([coded(translation)]).decode() == expected
    parsed = parse_file(b"> one\\\n> two\n", "a.md", OPTIONS)
    (segment,) = parsed.segments
    assert isinstance(segment.text, CodedText)
    first, end, _ = segment.text.parts
    written = parsed.write([CodedText((first, end, f" {translation}"))]).decode()
    assert written == f"> one\\\n> {expected}"


MDX = {
    "<A b={c > 1 ? 'd' : \"}\"}>\n    one\n    *two*\n</A>\n": (
        "<A b={c > 1 ? 'd' : \"}\"}>\n    ONE *TWO*\n</A>\n"
    ),
    "<A\n  b={() => { c('>') }}\n/>\n\none\n": "<A\n  b={() => { c('>') }}\n/>\n\nONE\n",
    "one {a.b} <C d={e}>two</C> <>three</>\n": "ONE {a.b} <C d={e}>TWO</C> <>THREE</>\n",
    "{/* one\n\ntwo */}\nthree\n": "{/* one\n\ntwo */}\nTHREE\n",
    "one {/* two */} three, 1 < 2 \\{ a \\}\n": "ONE {/* two */} THREE, 1 < 2 \\{ A \\}\n",
    "{a.map((b) => <li>{b}</li>)}\n": "{a.map((b) => <li>{b}</li>)}\n",
    "<details>\n<summary>one</summary>\n</details>\n": (
        "<details>\n<summary>ONE</summary>\n</details>\n"
    ),
    "unclosed { one < two\n": "UNCLOSED { ONE < TWO\n",
    "<A>\n    one:\n    ```b\n    c\n    ```\n    - two\n      three\n    - four\n</A>\n": (
        "<A>\n    ONE:\n    ```b\n    c\n    ```\n    - TWO THREE\n    - FOUR\n</A>\n"
    ),
}


@pytest.mark.parametrize("source", MDX)
def test_tags_and_expressions_of_mdx_stay(source: str) -> None:
    assert translated("a.mdx", source.encode()).decode() == MDX[source]


PIECES = [
    *"ab* _`[]()!<>&;\\~#-|\n",
    *("<b>", "</b>", "](u)", "**", "\n\n", "[a]: u\n", "> ", "- ", "|a|b|\n|-|-|\n", "<a@b.c>"),
    *("&amp;", "&lt;", "\r\n", "  \n", "\\\n"),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_mark_is_ever_lost(source: str) -> None:
    """Links by label may get one more, and beginnings a backslash."""
    done = translated("a.md", source.encode()).decode().lower()
    lost = Counter(source) - Counter(done)
    assert not lost.keys() & set("*_`[]()!<&;\\~#-")


@pytest.mark.parametrize("path", [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")], ids=str)
def test_our_own_pages_keep_their_shape(path: Path) -> None:
    content = path.read_bytes()
    assert shape(translated("a.md", content)) == shape(content)


def shape(content: bytes) -> list[tuple[str, ...]]:
    """Blocks and marks, with code and the targets of links."""
    found: list[tuple[str, ...]] = []
    for block in MarkdownIt("commonmark").enable("table").parse(content.decode()):
        found.append((block.type, block.content if block.type in ("fence", "code_block") else ""))
        for mark in block.children or []:
            is_code = mark.type in ("code_inline", "html_inline")
            target = str(mark.attrGet("href") or mark.attrGet("src"))
            if mark.type not in ("text", "softbreak", "text_special"):
                found.append((mark.type, target, mark.content if is_code else ""))
    return found


def in_other_letters(text: Text) -> Text:
    others = str.maketrans("abcdA", "efgöE")
    if isinstance(text, str):
        return text.translate(others)
    parts = (part.translate(others) if isinstance(part, str) else part for part in text.parts)
    return CodedText.of(parts)


@pytest.mark.parametrize("link", ["[x](#{})", '[x](#{} "T")', "[x](<#{}>)", '<a href="#{}">x</a>'])
@pytest.mark.parametrize(
    ("heading", "name", "other"),
    [
        ("# ab cd", "ab-cd", "ef-gö"),
        ("## Ab, *cd*!", "ab-cd", "ef-gö"),
        ("[ab cd](e.f)\n====", "ab-cd", "ef-gö"),
        ("# `ab` über", "ab-%C3%BCber", "ab-üfer"),
        ("# gh\n\n# ab\n\n# ab", "ab-1", "ef-1"),
        ("# ab {#cd}", "cd", "cd"),
        ("```\n# ab\n```", "ab", "ab"),
    ],
)
def test_links_to_headings_go_where_they_went(
    link: str, heading: str, name: str, other: str
) -> None:
    """As GitHub names headings; a name that is written out stays."""
    page = f"---\ntitle: ab\n---\n\n{link.format(name)} [y](#z)\n\n{heading}\n"
    parsed = parse_file(page.encode(), "a.md", OPTIONS)
    done = parsed.write([in_other_letters(segment.text) for segment in parsed.segments]).decode()
    assert link.format(other) in done
    assert "[y](#z)" in done
