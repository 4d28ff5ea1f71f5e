"""A small file of every format, with what a reader of the translated file must find."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Mapping

import regex

from service.documents.formats import parse_file
from service.documents.segments import FileOptions
from service.translation.markup.coded_text import Code, CodedText, CodeKind, Text, TextPart

OPTIONS = FileOptions("en", "de")

TXT = b"Hello world.\r\n\r\n  The sea is blue. It is deep.\r\n"
MARKDOWN = b"""---
title: The house
layout: Keep me
---
# The *old* house #

Some **bold text** and a [link to it](https://a.b/c "A title"), see `code here`.
It goes on \\* here & there &copy; [ref][r] and [r].

- first item
- [ ] second `x` item<br>more

> A quote that
> goes on.

| Name | Meaning |
|------|:-------:|
| sea  | The water |

```python
print("keep me")
```

<p align="center">Some <b>page</b> text</p>

[r]: https://ref.example "Title"
"""
MDX = b"""import Tabs from './tabs'

# A *house*

<Tabs is={1 > 2 ? 'a' : "b"}>
    Some **text**
</Tabs>
"""
RST = b"""The house
=========

Some **bold text** and `a link to it <https://a.b/c>`_, see ``code here``.
It goes on \\* here.

.. note:: A note that
   goes on.

- first item::

    keep me

+------+-----------+
| Name | Meaning   |
+======+===========+
| sea  | The water |
+------+-----------+
"""
TOML = b"""# a comment
[greeting]
description = "Keep the key"
one = 'Hello {{.Name}}' # another
other = '''
Hello all
'''
"""
ASCIIDOC = b"""= The house
Jane Doe <jane@house.example>
:lang: en
:description: All about it

== The rooms

Some *bold text* and https://a.b/c[a link to it], see `code here` and <<_the_rooms>>.
It goes on here.footnote:[A note with _marks_.]

.A table
[cols="1,2a"]
|===
|sea |The *water*

|ship
|* It sails
|===

NOTE: Be careful.

one:: definition
two::
  another +
  line

[source,python]
----
print("keep me")
----

image::a.png[A picture, 100]
"""
LATEX = rb"""\documentclass{article}
\newcommand{\keep}{keep me}
\title{The \emph{old} house}
\begin{document}
\section{The first part}\label{sec:keep}
Some \textbf{bold text} and ``quotes'', 5\,km~\cite{keep},
and $keep = 1$ here\footnote{A note.}.

\begin{itemize}
\item The first item
\end{itemize}
\begin{tabular}{ll}
The name & The meaning \\
\end{tabular}
\begin{verbatim}
keep me
\end{verbatim}
\end{document}
"""
NOTEBOOK = rb"""{
 "metadata": {"name": "Keep me"},
 "cells": [
  {"cell_type": "markdown", "source": ["# The *old* house\n", "\n", "It is\n", "big \"here\".\n"]},
  {"cell_type": "code", "source": ["print('keep me')"], "outputs": [NaN]},
  {
   "cell_type": "markdown",
   "source": [
    "One  \n",
    "two"
   ]
  },
  {"source": "A text \u00fc.\n\nAnd more \ud83d\ude00 here", "cell_type": "markdown"}
 ],
 "nbformat": 4
}
"""
HTML = (
    b"<!DOCTYPE html><title>A page</title><p class=x>Hello <b>big</b> world.</p><pre>keep</pre>\n"
)
SVG = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" lang="en">
  <title>A picture</title>
  <style>.Keep { fill: red }</style>
  <text><tspan y="1">Some <tspan class="Keep">red</tspan></tspan><tspan y="2">lines</tspan></text>
</svg>
"""
EML = (
    b"""Received: from a.example\r
\tby b.example; Mon, 5 Jan 2026 15:04:05 +0100\r
From:  Bob <bob@a.example>\r
Subject: Re: =?iso-8859-1?Q?The_caf=E9?=\r
  is closed\r
Content-Language: en\r
Content-Type: multipart/mixed; boundary="=_a"\r
\r
A multi-part message.\r
--=_a  \r
Content-Type: multipart/alternative;\r
 boundary="=_a-b"\r
\r
--=_a-b\r
Content-Type: text/plain; format=flowed; charset=iso-8859-1\r
Content-Transfer-Encoding: quoted-printable\r
\r
Hello,\r
the caf=E9 is closed, and I think =\r
that =20\r
we should meet elsewhere.\r
\r
> Shall we meet =20\r
> there?\r
>> No.\r
--=20\r
Bob\r
\r
--=_a-b\r
Content-Type: text/html; charset="utf-8"\r
Content-Transfer-Encoding: base64\r
\r
"""
    + base64.encodebytes(
        "<html lang=en><meta charset=utf-8><p>The <b>caf\u00e9</b> is closed.</p>".encode()
    ).replace(b"\n", b"\r\n")
    + b"""--=_a-b--\r
\r
--=_a\r
Content-Type: text/plain; name="keep.txt"\r
\r
Keep me\r
--=_a\r
Content-Type: message/rfc822\r
\r
Subject: The invoice\r
\r
Please pay it.\r
--=_a--\r
The end\r
"""
)
MHT = b"""From: <Saved by Blink>
Snapshot-Content-Location: https://a.example/
Subject: The house
MIME-Version: 1.0
Content-Type: multipart/related;
\ttype="text/html";
\tboundary="b"

--b
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable
Content-Location: https://a.example/

<!DOCTYPE html><html lang=3D"en"><head><meta charset=3D"utf-8"></head><body=
><p>The sea is blue.</p></body></html>
--b
Content-Type: text/css
Content-Transfer-Encoding: quoted-printable

/* Keep this */
--b--
"""
SRT = b"""1
00:00:01,000 --> 00:00:02,500
<i>The old man went</i>
down to the sea

2
00:00:02,600 --> 00:00:04,000
and looked at the water.

3
00:00:10,000 --> 00:00:12,000
{\\an8}- Who is it?
- It is me & you.

"""
VTT = b"""WEBVTT - a title

NOTE keep this note

STYLE
::cue { color: lime }

one
00:01.000 --> 00:03.000 align:start position:10%
<v Roger>The sea &amp; the sky
are <b>blue</b>.

00:00:04.000 --> 00:00:05.000
Bye
"""
ASS = b"""[Script Info]
Title: Keep me
[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial
[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,A comment stays.
Dialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{\\pos(320,100)}{keep}The sea, which is\\Nblue.
Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\i1}The sky{\\i0} is {\\c&HFF&}red.
Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0{\\p0}
[Fonts]
fontname: keep.ttf
Dialogue: keep
"""
PO = b"""# Translators' comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: a.c:1
msgid "Open the file"
msgstr ""

#, c-format
msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "Close the window"
msgstr "Alt"

msgid ""
"A long text\\n"
"in two lines with \\"quotes\\"\\n"
msgstr ""

#~ msgid "gone"
#~ msgstr ""
"""
XLIFF_1 = b"""<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" datatype="plaintext" original="a">
<body>
  <trans-unit id="1">
    <source>The <g id="1">big</g> house<x id="2"/> &amp; garden</source>
  </trans-unit>
  <trans-unit id="2"><source>Done</source><target>Fertig</target></trans-unit>
  <trans-unit id="3" translate="no"><source>Keep</source></trans-unit>
  <trans-unit id="4"><source>Empty</source><target state="new"/></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = b"""<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="u">
  <segment><source>Press <pc id="1">the button</pc> now</source></segment>
  <segment><source>Wait</source><target></target></segment>
 </unit></file>
</xliff>
"""
QT = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1">
<context><name>Main</name>
    <message><source>Open &lt;b&gt;this&lt;/b&gt; file</source>
        <translation type="unfinished"></translation></message>
    <message numerus="yes"><source>%n file(s)</source>
        <translation><numerusform></numerusform><numerusform></numerusform></translation></message>
    <message><source>Done</source><translation>Fertig</translation></message>
    <message><source>Gone</source><translation type="vanished"></translation></message>
</context>
</TS>
"""
ANDROID = b"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:tools="http://schemas.android.com/tools"
    xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- Keep this comment -->
    <string name="app" translatable="false">Dragoman</string>
    <string name="hello">Don\\'t wait, %1$s!\\nOpen the file</string>
    <string name="sent">Sent by <xliff:g id="name">%s</xliff:g> <b>today</b></string>
    <string name="page"><![CDATA[Read <a href=\\"x\\">the page</a>]]></string>
    <string name="same">@string/hello</string>
    <string-array name="days"><item>Monday</item><item>"It's  late"</item></string-array>
    <plurals name="files">
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
    <style name="Text"><item name="android:text">keep</item></style>
</resources>
"""
RESX = b"""<?xml version="1.0" encoding="utf-8"?>
<root>
  <!-- Keep this comment -->
  <resheader name="version"><value>keep</value></resheader>
  <data name="Hello" xml:space="preserve">
    <value>Hello &lt;b&gt;{0}&lt;/b&gt; &amp; all</value>
    <comment>keep</comment>
  </data>
  <data name="Typed" type="System.String, mscorlib"><value> Open
the file </value></data>
  <data name="Size" type="System.Drawing.Size"><value>keep</value></data>
  <data name="Icon" mimetype="application/x-microsoft.net.object.bytearray.base64">
    <value>a2VlcA==</value>
  </data>
  <data name="&gt;&gt;button.Name"><value>keep</value></data>
  <data name=">>button.Type"><value>keep</value></data>
  <metadata name="tray"><value>keep</value></metadata>
</root>
"""
JSON = b"""{ "title" : "Hello world",
  "@meta": {"description": "keep"}, "n": 1.50, "list": ["one \\"two\\"", true, null, {}, []],
\t"nested": {"deep": "The sea\\nis {name}", "id": "42"} }
"""
ARB = b"""{
  "@@locale": "en",
  "@@last_modified": "keep",
  "hello": "Hello {name}",
  "@hello": {"description": "keep", "placeholders": {"name": {"type": "String"}}},
  "files": "{count, plural, =0{No files} one{One file} other{{count} files}}",
  "by": "{gender, select, male{his house} other{their house}}"
}
"""
APPLE = b"""/* "Keep" = "this"; */
"hello" = "Hello, %@!"; // and this
"quote" = "Say \\"yes\\" \\U2026\\nNow";
key.plain = Save;
"key only";
"""
STRINGSDICT = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>files left</key>
    <dict>
        <key>NSStringLocalizedFormatKey</key>
        <string>Only %#@files@ left</string>
        <key>files</key>
        <dict>
            <key>NSStringFormatSpecTypeKey</key>
            <string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key>
            <string>lu</string>
            <key>one</key>
            <string>%lu file &amp; more</string>
            <key>other</key>
            <string>%lu files</string>
        </dict>
    </dict>
    <key>help</key>
    <dict>
        <key>NSStringVariableWidthRuleType</key>
        <dict><key>20</key><string>Help</string><key>50</key><string>Read the help</string></dict>
    </dict>
</dict>
</plist>
"""
XCSTRINGS = b"""{
  "sourceLanguage" : "en",
  "strings" : {
    "" : {

    },
    "Hello, %@!" : {

    },
    "Open" : {
      "comment" : "Keep",
      "localizations" : {
        "de" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Auf"
          }
        }
      }
    },
    "files" : {
      "localizations" : {
        "en" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld file"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld files"
                }
              }
            }
          }
        }
      }
    },
    "kept" : {
      "shouldTranslate" : false
    }
  },
  "version" : "1.0"
}"""
FLUENT = b"""# A comment: keep
-brand = Dragoman
hello = Hello, { $name }!
about = About { -brand } and <a data-l10n-name="us">us</a>
long =
    The first line
    and the second.

    Another { NUMBER($n, minimumFractionDigits: 2) } line.
menu =
    .label = Open the file
    .accesskey = O
files = { $n ->
    [one] One file
   *[other] { $n } files
}
today = It has { $n ->
   *[other] { $n } files
} today
"""
YAML = b"""# A comment: keep
en:
  hello: &hello "Hello, %{name}!"
  again: *hello
  'yes': 'Don\'\'t wait' # keep
  number: 1_000
  symbol: :keep
  flag: on
  date: {formats: {default: "%d.%m.%Y"}, order: [year, month, day]}
  plain: The sea
    is blue
  days: [~, Monday, "Tuesday"]
  folded: >-
    The house is
    big.

    It is old.
  literal: |

    First line
      - second line

  !!str typed: !!str The sky
  other: !own keep
"""
PROPERTIES = b"""# A comment: keep
title = Hello world
! another
long: The first part \\
      and the second
path\\ with\\:space=It''s {0}
empty=
number=42
"""
CSV = b"""id,Name,"What it is"
1,The sea,"Deep, ""blue"" water"
2,2.50,=CONCAT(A1)
,,true
"""
TSV = b"key\tText\r\na\tOpen the file\r\n"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DOCX = (
    f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<w:document {W}><w:body>'
    '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>The ti</w:t></w:r><w:proofErr '
    'w:type="spellStart"/><w:r w:rsidR="1"><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>tle</w:t>'
    "</w:r></w:p>"
    '<w:p><w:r><w:t xml:space="preserve">A </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>bold'
    '</w:t></w:r><w:r><w:t xml:space="preserve"> word &amp; a </w:t></w:r><w:hyperlink r:id="r1" '
    'xmlns:r="r"><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:br/><w:t>next line</w:t></w:r>'
    "</w:p>"
    '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> PAGE </w:instrText>'
    '</w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>page</w:t></w:r><w:r>'
    '<w:fldChar w:fldCharType="end"/></w:r></w:p>'
    "<w:p><w:r><w:t>before</w:t></w:r><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>in the box"
    "</w:t></w:r></w:p></w:txbxContent></w:pict></w:r><w:r><w:t>after</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>42</w:t></w:r></w:p></w:body></w:document>"
).encode()
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SLIDE = (
    f"<p:sld {A} xmlns:p='p'><a:p><a:pPr/><a:r><a:rPr lang='en-US' dirty=\"0\"/><a:t>The </a:t>"
    '</a:r><a:r><a:rPr lang="de-DE" b="1"/><a:t>big</a:t></a:r><a:br/><a:r><a:t>house</a:t></a:r>'
    "<a:endParaRPr/></a:p></p:sld>"
).encode()
ODT = (
    b'<office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d"><text:h>The title'
    b'</text:h><text:p>A <text:span text:style-name="T1">big</text:span> house<text:note><text:note'
    b"-citation>1</text:note-citation><text:note-body><text:p>the note</text:p></text:note-body>"
    b"</text:note> here<text:line-break/>and there</text:p></office:document-content>"
)
ODP = (
    b'<office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d"><draw:page draw:name='
    b'"Sea"><text:p><text:span text:style-name="T1">The sea</text:span></text:p><text:p>Slowly'
    b"</text:p></draw:page></office:document-content>"
)
ODS = (
    b'<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="d"><table:table '
    b'table:name="Sea"><table:table-row><table:table-cell office:value-type="string"><text:p>The '
    b'sea</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="5">'
    b"<text:p>5 EUR</text:p></table:table-cell></table:table-row></table:table>"
    b"</office:document-content>"
)
FODT = b"""<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="o" xmlns:text="t" xmlns:dc="d" xmlns:fo="f" xmlns:style="s">
  <office:meta><dc:title>The title</dc:title><dc:language>en-US</dc:language></office:meta>
  <office:styles><style:text-properties fo:language="en" fo:country="US"/></office:styles>
  <office:body><text:p>The <text:span>sea</text:span></text:p></office:body>
</office:document>
"""
STRINGS = b"""<?xml version="1.0" encoding="UTF-8"?>
<sst xmlns="s" count="4"><si><t>The sea</t></si><si><t>Price</t></si><si><t>42</t></si><si><r><t
xml:space="preserve">very </t></r><r><rPr><b/></rPr><t>deep</t></r></si></sst>"""
SHEET = b"""<worksheet xmlns="s"><sheetData><row r="1"><c t="s"><v>0</v></c><c r="B1"><f>SUM(1,2)
</f><v>3</v></c><c r="C1" t="inlineStr"><is><t>The sky</t></is></c></row></sheetData></worksheet>"""
TABLE = (
    b"""<table xmlns="s"><tableColumns><tableColumn id="1" name="Price"/></tableColumns></table>"""
)
CONTAINER = b"""<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>"""
PACKAGE = b"""<package><manifest><item href="one%20page.xhtml" media-type="application/xhtml+xml"/>
<item href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest></package>"""
PAGE = b"""<?xml version="1.0"?>
<html xmlns="h"><body><h1>One</h1><p>The <i>sea</i>.</p></body></html>"""
NCX = b"<ncx><navMap><navLabel><text>Chapter one</text></navLabel></navMap></ncx>"


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        for name, content in members.items():
            how = zipfile.ZIP_STORED if name == "mimetype" else method
            opened.writestr(zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6)), content, how)
    return written.getvalue()


PARTS = {
    r"word/document\d*": "wordprocessingml.document.main",
    r"word/glossary/document": "wordprocessingml.document.glossary",
    r"word/(header|footer)\d+": r"wordprocessingml.\1",
    r"word/(footnotes|endnotes|comments|styles|numbering)": r"wordprocessingml.\1",
    r"ppt/presentation": "presentationml.presentation.main",
    r"ppt/.*/(slide|notesSlide|slideLayout|slideMaster|handoutMaster)\d+": r"presentationml.\1",
    r"ppt/comments/.*": "presentationml.comments",
    r"xl/workbook": "spreadsheetml.sheet.main",
    r"xl/worksheets/.*": "spreadsheetml.worksheet",
    r"xl/.*(sharedStrings|comments|table|pivotCacheDefinition)\d*": r"spreadsheetml.\1",
    r"xl/threadedComments/.*": "threadedcomments",
    r"xl/drawings/drawing\d+": "drawing",
    r".*/charts/chart\d+": "drawingml.chart",
    r".*/diagrams/data\d+": "drawingml.diagramData",
    r"docProps/core\d*": "core-properties",
}
"""The types of parts by their usual names."""


def package(members: Mapping[str, bytes]) -> bytes:
    """An archive of Office Open XML that says the types of its parts."""
    vendors = {
        "threadedcomments": "application/vnd.ms-excel.",
        "core-properties": "application/vnd.openxmlformats-package.",
    }
    usual = "application/vnd.openxmlformats-officedocument."
    overrides = [
        f'<Override PartName="/{name}" ContentType="'
        f'{vendors.get(kind, usual)}{match.expand(kind)}+xml"/>'
        for name in members
        for pattern, kind in PARTS.items()
        if (match := regex.fullmatch(rf"{pattern}\.xml", name))
    ]
    types = f"<Types>{''.join(overrides)}</Types>".encode()
    return archive({"[Content_Types].xml": types, **members})


def pdf(*lines: str) -> bytes:
    """A page with these lines, as small as a reader takes it."""
    shown = "".join(f"({line}) Tj T* " for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(written)
    written += b"xref\n0 6\n0000000000 65535 f \n" + table
    return written + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


SAMPLES: dict[str, bytes] = {
    "a.txt": TXT,
    "a.md": MARKDOWN,
    "a.mdx": MDX,
    "a.rst": RST,
    "a.adoc": ASCIIDOC,
    "a.tex": LATEX,
    "a.ipynb": NOTEBOOK,
    "a.html": HTML,
    "a.svg": SVG,
    "a.eml": EML,
    "a.mht": MHT,
    "a.srt": SRT,
    "a.vtt": VTT,
    "a.ass": ASS,
    "a.po": PO,
    "a.xlf": XLIFF_1,
    "b.xliff": XLIFF_2,
    "a.ts": QT,
    "a.xml": ANDROID,
    "a.resx": RESX,
    "a.json": JSON,
    "a.arb": ARB,
    "a.strings": APPLE,
    "a.stringsdict": STRINGSDICT,
    "a.xcstrings": XCSTRINGS,
    "a.ftl": FLUENT,
    "a.yml": YAML,
    "a.properties": PROPERTIES,
    "a.toml": TOML,
    "a.csv": CSV,
    "a.tsv": TSV,
    "a.docx": package({"word/document.xml": DOCX, "x.bin": b"\0"}),
    "a.pptx": package({"ppt/presentation.xml": b"<p/>", "ppt/slides/slide1.xml": SLIDE}),
    "a.xlsx": package(
        {
            "xl/workbook.xml": b"<workbook/>",
            "xl/sharedStrings.xml": STRINGS,
            "xl/worksheets/sheet1.xml": SHEET,
            "xl/tables/table1.xml": TABLE,
        }
    ),
    "a.odt": archive({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": ODT}),
    "a.odp": archive(
        {
            "mimetype": b"application/vnd.oasis.opendocument.presentation",
            "content.xml": ODP,
            "styles.xml": ODT,
        }
    ),
    "a.ods": archive(
        {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": ODS}
    ),
    "a.fodt": FODT,
    "a.epub": archive(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/a.opf": PACKAGE,
            "OEBPS/one page.xhtml": PAGE,
            "OEBPS/toc.ncx": NCX,
        }
    ),
}


def texts_of(name: str, content: bytes, options: FileOptions = OPTIONS) -> list[str]:
    return [shown(segment.text) for segment in parse_file(content, name, options).segments]


def shown(text: Text) -> str:
    """The text with its codes by number: <0>a pair</0>, <^1>a script</1>, <2/> and <3|> a stop."""
    return text if isinstance(text, str) else "".join(map(_shown, text.parts))


def _shown(part: TextPart) -> str:
    if isinstance(part, str) or part.text:
        return part if isinstance(part, str) else part.text
    before = {"close": "/", "open": "^" * part.is_script}.get(part.kind, "")
    return f"<{before}{part.number}{ {'single': '/', 'stop': '|'}.get(part.kind, '') }>"


def coded(text: str) -> CodedText:
    """The text that is shown so."""
    kinds: dict[str, CodeKind] = {"": "open", "/": "single", "|": "stop"}
    parts = (
        Code("close" if m[3] else kinds[m[5]], int(m[4]), is_script=m[2] == "^") if m[4] else m[1]
        for m in regex.finditer(r"([^<]+|<(?![\^/]?\d))|<(\^?)(/?)(\d+)([/|]?)>", text)
    )
    return CodedText.of(parts)


def capitals(text: Text) -> Text:
    """The text in capitals, but for codes, tags and references."""
    if isinstance(text, CodedText):
        upper = (part.upper() if isinstance(part, str) else part for part in text.parts)
        return CodedText(tuple(upper))
    return regex.sub(r"(<[^<>]*>|&[#\w]+;)|([^<&]+)", lambda m: m[1] or m[2].upper(), text)


def translated(name: str, content: bytes, options: FileOptions = OPTIONS) -> bytes:
    """The file with every segment in capitals."""
    parsed = parse_file(content, name, options)
    return parsed.write([capitals(segment.text) for segment in parsed.segments])


def member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return opened.read(name)
