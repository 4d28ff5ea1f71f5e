"""Find the strings of a text that a translation must keep: placeholders, addresses, code.

Strings with delimiters of their own are kept also beside letters: {name}, %s, <br>. Of the rest a
token, which is what stands between spaces, is kept if it looks like code. Numbers, amounts, times
and dates other than ISO 8601's are left to the model. All of it takes linear time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

import regex

from model.text.spans import Span
from service.translation.addresses import find_addresses
from service.translation.automaton import Automaton
from service.translation.language.segmentation import BAR, without_fields
from service.translation.signatures import find_signers
from service.translation.statements import find_statements
from service.translation.units import LONG_UNITS

_MASK = "\ufffc"  # stands for each character of a delimited string
LINE_END = r"(?<![\d%])%(?P<space>n)(?=\p{Lu}|(?<=[\p{L}.,:;!?)\]}…”»]%n)\p{L})"
"""Java's line end before a word, as in `Done.%nGo on`; as the number of Qt it stands alone."""
_DELIMITED = regex.compile(
    r"""(?=[(`{$%@\#\[:⟦⟧&§\\<+°'A-Z\d*×•●x〔一二三四五六七八九十百条-])(?:
    # `x`; not `x' and `y'
    ```[^`]+```|``(?:[^`\n]++|`(?!`))++``|`[^`\n]*[^`\s(]`
    # {{x}} ${{ x }} {% x %} ${x} #{x} {} {0:d} {n, number} {\an8} $ cp a $(x) $t(x) [[x]] '{'x'}'
    |[$%@\#]?\{\{\{?[^{}\n]{1,200}\}?\}\}|\{%[^{}\n]{1,200}%\}|[$%@\#]\{[^{}\n]{0,200}\}
    |\{\\[a-zA-Z\d][^{}\n]{0,80}\}|\{\s*+/?[\w.$@-]*+(?:\[[^\]\s{}]{0,80}\])?\s*+(?:[:!,][^{}\n]{0,80})?\}
    |'(?:\{'[^'{}\s]{1,80}'\}|[{}])'(?!')
    |\$(?<=(?:^|\n)[^\S\n]{0,20}(?:\([\w.-]{1,40}\)\ |[\w.-]{1,40}@[\w.-]{1,80}:\S{0,80})?\$)
        \ (?=[a-z~./])[^\n]*
    # formulas of LaTeX: \(x \in R\) \[a = b\] $x^2 > y$ $$a_i$$; not \[Note\] and $a = 5 or $b
    |\\\((?=\w\\\)|[^\\\n]{0,200}?(?:\\[a-zA-Z]|[\^_=+<>]))[^\n]{1,200}?\\\)
    |\\\[(?=[^\\\n]{0,200}?(?:\\[a-zA-Z]|[\^_=+<>]))[^\n]{1,200}?\\\]
    |(?<![\w$])(?<dollars>\${1,2})(?=[^\s$])(?=[^$\n]{0,200}[\\^_=])[^$\n]{1,200}(?<!\s)\g<dollars>(?![\w$])
    |\$t?\([^()\n]{1,80}\)|\$(?:1|[2-9](?<=\$1\b.{0,200}))(?!\w|[.,]\d|\s?[MmBb]illi)
    |\[\[[^\[\]\n]{1,200}\]\]
    # %NAME% %% %(x)s %-5.2f %1 %#@x@; not "100% sure"
    |(?<!\d)%++[A-Za-z_]\w*+%++(?!\.?[\p{Latin}\d_])|%%(?:[sdu](?![\p{Latin}\d_]))?|%\([^()\n]{1,80}\)[-+\#0-9.]*+[A-Za-z]
    |%(?:\d{1,2}\$)?\#@\w{1,80}@|(?<!\d)%(?:\d{1,2}\$)?[-+,'\#0]*+(?:\d++|\*)?(?:\.(?:\d++|\*))?
        (?:hh?|ll?|[Lzjtq])?(?:[sdiufx@]|(?<=\.\d)[eEgG]|[oXeEFgGaAbcChSpnqrvw](?![A-Za-z]))
    |"""
    + LINE_END
    + r"""
    |(?<!\d)%L?\d{1,2}(?![\w$])
    # :arrow-right: :py:func: :name [NAME] ### [list id="5"] [/list] [1] [X1X] [x] -x
    |(?<![\p{Latin}\d_:]):(?:[a-z0-9_+-]{2,60}:(?![\p{Latin}\d_:])|[a-z]{1,20}:[a-z-]{1,40}:(?=`))
    |(?:(?<=[\s(\["'])|^):[a-z_][a-z0-9_]+(?![\p{Latin}\d_:/])
    |\[(?=\p{Lu})(?:(?<=[\p{Ll}\p{Han}][,:;]?\s?\[)[\p{Lu}\d]{2,30}\]|[\p{Lu}\d]{2,30}\](?=,\s)|(?:ERROR|INFO|WARN)\])
    |\#(?<=(?:[^\s\#]\ |[\p{Han}:：])\#)\#{2,}+(?![\w\#])
    |\[(?:/[\w-]{1,40}|(?=[\w-]{2,40}\ [\w-]{1,40}=)[^\[\]\n]{5,400})\]
    |\[(?:[A-Z]\d+[A-Z]?|\d{1,4}(?:,(?:\d{1,4}|\*))?|[xX\ ])\]|⟦[^⟦⟧\s]{0,20}⟧|[⟦⟧]
    |-(?<=[\p{Han}\u3000-\u303f\uff00-\uff65("'„“‘]-|[^\s.!?:;–—-]\ -)[A-Za-z](?![\p{Latin}\d_'’-])
    # &lt;br&gt; &nbsp; \n List<String> <name id="1"> <<NAME>> <%= x %> <!-- x --> <|1|>
    |&lt;/?[A-Za-z][\w:.-]*+(?:\s[^<>&\n]*+)?/?&gt;
    |&(?:[A-Za-z]{2,8}\d{0,2}|\#\d{1,7}|\#x[0-9a-fA-F]{1,6});|\\[nrt](?![a-z])|\\["'*\[\]~]
    |(?<![\p{Latin}\d_])[A-Z]\w{0,80}+<(?!(?:[a-z]|br|hr|wbr|img)\b)[\w&:,<>]{1,80}(?<=>)
    |<++/?[A-Za-z\d][\w:.-]*+(?:\s*+/?>++|\s[^<>=\n]*+=[^<>\n]*+>)|<%[^%\n]{1,200}%>|<!--[^\n]{0,500}?-->|<\|\w{1,40}\|>
    # 2024-05-17 10:00, AB12-00MW-EF56, units after a number
    |(?<![\p{Latin}\d_-])\d{4}-\d\d-\d\d
        (?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?!:\w\w))?(?![\p{Latin}\d_-])
    |(?<![\p{Latin}\d_-])(?=[A-Z-]*+\d)(?:[A-Z\d]{2,}+-){2,}+[A-Z\d]{2,}+
        (?![\p{Latin}\d_]|[/.:@\#]\w)
    |(?<!\p{Latin}(?<!\dx)\d{0,9})\d[\ \u00a0\u202f]?\K
        (?:"""
    + LONG_UNITS
    + r"""|[gltLVW](?!\()|(?<=[\ \u00a0\u202f])[msA](?!\.D)
        |(?<!(?:[$€£¥]|[A-Z]{3})\s?[\d.,]{3,12})(?:(?<=\d[.,]\d{1,3})[mshxAFC]|(?<=\d{3})m)
        |(?<=[\ \u00a0\u202f])(?<![-–—]\s?\d\d?[:.]\d\d.)h)(?![\p{Latin}\d_])
    # 3e8, and 3×10⁸ without the factor
    |(?<![\p{Latin}\d_.,/-]|[\da-f]:)\d{1,9}(?:\.\d{1,9})?[eE][+-]?\d{1,3}(?![\p{Latin}\d_-]|:[\da-f])
    |(?:(?<!\p{Latin}\d{0,9})\d\ ?\K[×·]\ ?|(?<![\p{Latin}\d.,]))10[⁺⁻]?[⁰¹²³⁴-⁹]{1,3}
    # 3 p.m. EST, 15:00 Uhr MEZ
    |(?<![\d.,:])\d{1,2}(?:(?::\d\d)?(?:\ Uhr)?\ \K(?:GMT|UTC|BST|CES?T|MES?Z|[AE]E[SD]T)
        |(?::\d\d)?\ ?[apAP]\.?[mM]\.?\ \K(?:GMT|UTC|BST|CES?T|A?[CEMP][SD]?T)
        |:\d\d\ \K[CEMP][SD]?T)(?:[+-]\d{1,2}(?::\d\d)?)?(?![\p{L}\d])
    # 1 000 000, numbers of cards, telephone numbers, IBAN, hashtags and mentions in Chinese
    |(?=\d{1,3}[\ \u00a0\u202f]\d{3}[\ \u00a0\u202f]\d{3}(?!\d))(?<![\p{Latin}\d_+.,/:-]|\d\ )
        \d++(?:[\ \u00a0\u202f]\d{3}(?!\d))++(?![\p{Latin}_]|[.,:/-]\d)
    |(?<![\p{Latin}\d_+.,/:-])\d{4}(?:[\ -]\d{4}){2,4}(?:[\ -]\d{1,4})?(?![\p{Latin}\d_]|[.,:/-]\d)
    |(?=\d{9})(?<![\p{Latin}\d_+.,/:-])\d++[Xx]?(?![\p{Latin}\d_]|[.,:/-]\d)
    |(?<![\p{Latin}\d_+])\+(?:[\ ()./-]{0,2}\d){8,15}(?![:./-]?\d|[\p{Latin}_])
    |(?<![\p{Latin}\d_+.,/:-])0\d{2,4}(?:\ ?[/-]\ ?|\ )(?=(?:[\ -]?\d){6})\d++(?:[\ -]\d++)*+
        (?![\p{Latin}_]|[.,:/-]\d)
    |(?<![\p{Latin}\d_+])\((?:0\d{1,5}|\d{3})\)(?=\ ?(?:[\ /-]?\d){6,10}(?!\d))
        (?:[\ /-]?\d++)++(?![\p{Latin}_]|[.,:/-]\d)
    # masked: 138****8000, 6222 **** **** 1234, *1234, 张** and ***; not **5** or **text**
    |(?<![\p{Latin}\d_*×•●])(?=[\d\ -]{0,20}+(?:[*×•●]{2}|[Xx]{4}))(?=[*×•●Xx\ -]{0,20}+\d)
        (?!\*{2,3}\d)[\d*×•●Xx]++(?:[\ -][\d*×•●Xx]{2,}+)*+
        (?<!\d\*{2,3}|\d\ \*{2,9})(?![\p{Latin}_])
    |(?<![\p{Latin}\d_*)\]])\*\d{4}(?![\p{Latin}\d_*]|[^*\n]{0,80}[^*\s]\*(?![\w*]))
    |(?<=[\p{Han}:：=(（“"'])\*{2,}+(?![\p{Latin}\d_])|(?<=[^\s*]\ )\*{2,}+(?=[.,;:!?)]|\ [^\s*])
        |(?<=\p{L})(?<!\*[^\n*]{0,80})\*{3,5}+(?![\w*])
    # 10.1000/182, 4.2(b)(ii), 6(1)(f), ABCDE-FGHIJ-KLMNO, codes, BICs, and USA 3–2 FIN
    |(?<![\p{Latin}\d_.,/-])(?:10\.\d{4,5}/[\w.():;+-]{0,80}\w
        |\d{1,3}(?:\.\d{1,3})++(?=\((?:[a-zA-Z]|[ivx]{2,5}|\d++\)\()(?<!\d\.\d{3}))
            (?:\((?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})\))++(?![\p{Latin}\d_(]))
    |(?:(?<![\p{Latin}\d_.,/(-])\d{1,4}[a-z]?|[一二三四五六七八九十百条])\K
        (?!\(\d++\)(?!\())(?:\((?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})\))++(?![\p{Latin}\d_(])
    |(?<![\p{Latin}\d_-])(?:(?:[A-Z]{4}-){2,}[A-Z]{4}|(?:[A-Z]{5}-){2,}[A-Z]{5})(?![\p{Latin}\d_-])
    |(?<![\p{Latin}\d_$@\#%&/\\.-])(?:
        (?<=\b(?:BIC|SWIFT)(?:[ -]?[Cc]ode)?:?\ )[A-Z]{6}[A-Z\d]{2}(?:[A-Z\d]{3})?
        |(?<=(?i:code|passwor[dt]|reference)(?::|\ is|\ ist)?\ )[A-Z]{6,}|[B-DF-HJ-NP-TV-XZ]{6,}
        |(?!MON|TUE|WED|THU|FRI|SAT|SUN|THE|AND|FOR|UND|VON|BIS)[A-Z]{3}
            (?=\ \d{1,3}(?::\d\d|\ ?[-–:]\ ?\d{1,3})(?!\d))
        |(?<=\d\ ?[-–:]\ ?\d{1,3}\ )(?!BCE)[A-Z]{3})(?![\p{Latin}\d_\#%-])
    # Müller et al., file numbers of courts: VI ZR 123/18, 4 StR 12/21, B 12 KR 5/20 R
    |(?<![\p{L}\d])\p{Lu}[\p{L}'’-]{1,40}+,?\ et\ al\.
    |(?<![\p{L}\p{N}_.,/-])(?P<court>[A-Z]\ )?(?:[IVX]{1,5}|\d{1,2})\ [A-Z][A-Za-z]{0,3}
        \ \d{1,5}/\d\d(?(court)(?:\ [A-Z])?)(?![\p{L}\p{N}_/])
    # licence plates: B-MW 300E, AB12 CDE
    |(?<![\p{L}\p{N}_-])(?:[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}\ \d{1,4}[EH]?|[A-Z]{2}\d\d\ [A-Z]{3})
        (?![\p{L}\p{N}_-])
    # German streets with a number: Schillerstr. 7a, Karl-Marx-Allee 5, Lange Straße 12-14
    |(?<![\p{L}\d_-])(?!(?:Bundes|Land|Schnell)str|(?:D[ei]|Dies|Ein|Jed|Kein)e?r?\ )
        \p{Lu}[\p{L}-]{1,40}?
        (?:(?:-S|er?\ S|(?<=\p{Ll})s)tr(?:\.|a(?:ß|ss)e)
        |(?:-A|(?<=\p{Ll})a)llee|(?:-G|(?<=\p{Ll})g)asse)
        \ \d{1,3}[a-z]?(?:\ ?[-–/]\ ?\d{1,3}[a-z]?)?(?![\p{L}\d_%]|[.,:]\d)
    # the number of a decree, degrees, feet and inches, colours of Minecraft, sections, postcodes:
    # 48°51'N 5'11" 14" §c &l §6.9 SW1A 2AA NY 10016
    |(?<![\p{Latin}\d_.,])\d{1,3}°\ ?\d{1,2}(?:[.,]\d{1,4})?['′]
        (?:\ ?\d{1,2}(?:[.,]\d{1,4})?(?:["″”]|''))?(?:\ ?[NSEWO])?(?![\p{L}\d])
    |(?<![\p{Latin}\d_.,])\d{1,2}['′]\ ?\d{1,2}(?:["″”]|'')(?!\w)
    |(?<![\p{Latin}\d_.,/])(?:\d{1,3}(?:\.\d{1,2})?|(?:\d{1,2}[\ -])?\d{1,2}/\d{1,2})
        (?:["″](?<!(?<![^\s(])"[^"\n]{0,80}["″])|['′](?<!(?<![^\s(])'[^'\n]{0,80}['′]))(?![\p{L}\p{N}])
    |〔\d{4}〕\d{1,5}
    |§(?:[a-fk-or]|\d(?=\p{L}{2}|§))|(?<![\p{L}\d&])(?:&[\da-fk-or])++(?=\p{Lu}\p{Ll})
    |§{1,2}[\ \u00a0]?\d{1,4}(?:\.\d{1,4})++(?![\p{Latin}\d_])
    |(?<![\p{Latin}\d_])[A-Z]{1,2}\d[A-Z\d]?\ \d[A-Z]{2}(?![\p{Latin}\d_])
    |(?<=,\ )[A-Z]{2}\ \d{5}(?:-\d{4})?(?![\p{Latin}\d_-])
    |(?<![\p{Latin}\d_])[A-Z]{2}\d\d(?:\ ?[A-Z0-9]{4}){3,7}(?:\ ?[A-Z0-9]{1,3})?(?![\p{Latin}\d_])
    |(?:(?<![[\w&/]--\p{Han}])|(?<=(?<![^\s\p{Han}\p{P}])//))(?:\#(?![号號键鍵井])(?=[\w--\p{Han}]*+\p{Han})[^\W\d]\w*+\#?
        |@(?=[\w--\p{Han}]*+\p{Han})[\w--[的是在了和吗吧呢你我他她]]{1,8}+(?![\w--[的是在了和吗吧呢你我他她]]))
    )""",
    regex.V1 | regex.X,
)
_CHARACTERS = (
    r"(?:[^\s\]\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff00-\uff65“”„‚‘’«»‹›…–—]|\](?!\())++"
)
_TOKEN = regex.compile(_CHARACTERS)
_BAR = regex.compile(BAR)
_PLACE = re.compile(r"://|\b[A-Za-z]:\\")
_PLACE_GOES_ON = regex.compile(
    rf"""(?:(?<=[/\\=])\p{{Han}}{{1,30}}+(?=[/\\?&\#=.][\w-]){_CHARACTERS})*+
    (?:(?<=/(?:wiki|item|tags?|search|s)/|[=\\])\p{{Han}}{{1,30}}+(?=[\s。，、；！？）)】」』”"'>]|$))?+""",
    regex.X,
)
"""Chinese characters in an address or a path: /wiki/北京, C:\\用户\\a.txt and D:\\项目."""
_ELEMENT = (
    "(?:A[cglmrstu]|B[aehikr]?|C[adeflmnorsu]?|D[bsy]|E[rsu]|F[elmr]?|G[ade]|H[efgos]?|I[nr]?|Kr?"
    "|L[airuv]|M[cdgnot]|N[abdehiop]?|O[gs]?|P[abdmortu]?|R[abefghnu]|S[bcegimnr]?|T[abcehilms]"
    "|U|V|W|Xe|Yb?|Z[nr])"
)
_FORMULA = (
    rf"(?![A-Z]++s$)(?=.*[a-z]|(?:\D*\d){{2}})(?:{_ELEMENT}\d*|\((?:{_ELEMENT}\d*)++\)\d*){{2,}}+[+-]?$"
    rf"|{_ELEMENT}\d[+-]$"
)
"""Of a substance or an ion, as NaCl, H2SO4 and Ca2+; not of CO2 and H2O, which networks know, and
unlike PCs."""
_CODE = regex.compile(
    r"""
    # a sign between letters or before them: a_b a=b a\b __a $a @a #a
    [\w\ufffc](?:_+(?!innen\b)|[\\@=|^<>\#]+)[\w\ufffc]|(?<!\w)(?:[@$\\=]|\#\d*)[\p{L}_]
    # two signs that text hardly has, operators, a(), flags
    |(?:(?:[\\@=|^{}]|\w>|<\w|\$(?!\d)|[%\#]\p{L}).*?){2}
    |&&|\|\||::|[=!<>:+-]=|[-=]>|\w\(\)|(?:^|[/|]|^[-\w\ufffc]{2},)--\p{L}|^[*_~]++--?\p{L}
    # places: /a/b ~/a a/b/c/d a/b:1 a://b **/a localhost:80
    |^(?:~|\.{1,2})?//?[\p{L}\d_.@-]{2}|\w/[\w.+~-]++/[\w.+~-]++/[\w.]|\w/[\w.-]++:\d|://\S
    |\*\*/|\p{L}:\d{2}
    # names and numbers with dots: a.b .a a3.1 1.2.3 127.0.0.1; not 24.12.2024 or 1.000.000
    |(?:[\w\ufffc]{2}|[*?)])\.\p{Ll}|^\.(?:\p{Ll}\w|[A-Z]{2,}$)|\p{L}\d+\.\d|^(?:[A-Z]{2,5}|\d{4,6})\.(?:[A-Z]{2}|[B-HJ-Z])$
    |^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.|\b)){4}
    |^(?!(?:\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,3}(?:\.\d{3})+)(?![\d.]|-\p{L}))\d+\.\d+\.(?:\d|[A-Z]\b)
    # groups: yyyy-MM-dd a:b:c:d 1a-2b-3c AB12-CD34-EF56 978-3-16-148410-0 A/C Acked-by
    |^(?:([yYMdDHhmsS])\1++[-./:T]?){2,}$|\w:\w*:\w*:\w
    |^(?=\D*\d)(?:(?P<group>[A-Z\d]{2,}|[a-f\d]{2,}|\d)-){2,}(?&group)|^\d:\d\d-[a-z]{2}-\d{3,6}
    |^(?!I/O|N/A|A/B)[A-Z]/[A-Z]$|^(?:Signed-off|Co-authored|Reviewed|Acked|Tested|Reported)-by$
    # letters among digits, and capitals within: 1a2b3c 3x4x5 0x1f X209 B-209 a1bC getName a.GetName
    |(?<![A-Za-z\d])(?=[A-Za-z\d]{6})[A-Za-z\d]*?(?:\d[A-Za-z]++\d|[A-Za-z]\d++[A-Za-z])
    |^\d{1,5}(?:[x×]\d{1,5}){2,3}(?![.,]?\d)|^0x[\da-f]|^[-+−±]?\d+(?:[.,]\d+)?[eE][-+−]?\d+$|^[a-z]\d-\d{3}|[A-Za-z]\d{3}|[A-Z]-\d{3}|^[A-Z]{3}-[A-Z]$|^(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,}$
    |^(?=\D*\d).*[a-z][A-Z]|[a-z][A-Z]+[a-z]+[A-Z]
    |^(?:[a-z]{2,}|[A-Z][a-z]{2,}(?!Inn))[A-Z][a-z]|[a-z]\.[A-Z][a-z]++[A-Z]|^[A-Za-z]{1,2}\*{2,}[A-Za-z]++$
    |^(?:"""
    + _FORMULA
    + ")",
    regex.V1 | regex.X,
)
"""The features of a token of code."""
_COMPARED = regex.compile(
    r"(?<![^\s(\[,;])\p{L}(?: [-+*/×−] \p{L}){0,8}+ "
    r"(?:[<>≤≥](?= [-−]?\d*+[.,]\d|0?\.\d)|(?:[<>!=]=|[<>≤≥≠≈=])"
    r"(?: [-−]?\d++(?![.,]?\d|\p{L})"
    r"| \p{L}(?![\p{L}'’])(?: [-+*/×−] \p{L}(?![\p{L}'’])){0,8}+))"
)
"""What compares single letters: a > b, n = 24, and the p < of p < 0.05."""
_COMPOUND = regex.compile(r"-\p{Lu}\p{Ll}{2,}+")
"""A word that German adds to a name: do_it-Aufruf."""
_HINT = re.compile(r"[#%&§*@/\\[{}<>=|_$+~^`0-9⟦⟧™®©-]")
_HINT_IN_WORDS = re.compile(
    r"[A-Z](?:(?<=[a-z][A-Z])|[A-Z]{4}|[A-Z][a-rt-z]\b)"
    r"|[.:](?:[a-z]|(?<=\s.)[A-Z]{2}|(?<=[A-Z]{2}.)[A-Z])|\(\)"
)
"""The signs of a text with strings to keep. They are two, because a set of characters alone is
searched ten times as fast."""
_WORD = r"[^\W\d_]?[a-z\u00df-\u00ff]*"
_PLAIN = re.compile(
    rf"[\"'(]*{_WORD}[.,;:!?)\"']*|[^\W\d_]+(?:==|\|\||__)[.,;:!?)]*"
    r"|(==|\|\||__(?=[A-ZÀ-Þ][a-zß-ÿ]))[^\W\d_]+[.,:!?]?(\1)?[.,;:!?)]*"
)
"""A word as most are, also as ==marked== or __Marked__."""
_ODD = regex.compile(r"(?V1)[\p{Co}\ufffc\ufffd\x00-\x08\x0e-\x1b\x7f]+")
_PILE = regex.compile(r"\p{M}{5}|[\u0334-\u0338]")
_PILES = regex.compile(
    r"(?<![\p{L}\p{M}])(?:[\p{L}\p{M}]*?\p{M}{5,}+|(?:[\p{L}\p{M}]*?[\u0334-\u0338]){2})[\p{L}\p{M}]*+"
)
"""Words with five marks on a letter, or two letters struck out: no model has learned them."""
_BLOCK_HEAD = regex.compile(
    r"\{\s*+[\w.$@-]++\s*+,\s*+(?:plural|select|selectordinal|choice)\s*+,", regex.IGNORECASE
)
_UNIT = regex.compile(
    rf"""(?:[hdmx]|ms|px|r?em|v[hw]|fps|[kKMGT]i?B|[kc]m|k?g
    |[\ \u00a0](?:{LONG_UNITS}|[mgh]|EUR|USD|GBP|CHF|JPY|CNY)(?!['’-])
    |s(?<=\{{\d?\}}s)(?!\ \p{{Lu}})|\ s(?<=%[\d.]{{0,8}}[dfiu]\ s)
    |s(?<=(?:%[\d.]{{0,8}}[dfiu]|\b(?:s|secs?|seconds?|[Ss]ek(?:unden)?)\}}{{1,2}})s))
    (?![\p{{L}}\p{{N}}_])""",
    regex.X,
)
"""What is beside the placeholder of a number: {h}h {m}m, {n} kg and {0}s ago; not the German {0}s
Haus."""
_LETTER = re.compile(r"[A-Za-z0-9_\u00C0-\u024F]")
_MARKS, _END_MARKS = "*_~", ".,;:!?"
_PARTNERS = {"(": ")", ")": "(", "[": "]", "]": "[", "'": "'", '"': '"'}


class KeptStrings:
    """Finds the strings that a request names, in time linear in the text. A string counts where no
    other letter or digit touches it."""

    def __init__(self, strings: Iterable[str]) -> None:
        self._automaton = Automaton(strings)

    def find(self, text: str) -> Iterator[Span]:
        """The longest string that ends at each place, in order of the ends."""
        for end, lengths in enumerate(self._automaton.lengths(text), 1):
            if lengths and not _is_inside_word(text, end):
                starts = (end - length for length in lengths)
                if (start := next((s for s in starts if not _is_inside_word(text, s)), -1)) >= 0:
                    yield Span(start, end)


def find_kept(
    text: str,
    keep: KeptStrings | None = None,
    others: Iterable[Span] = (),
    terms: Iterable[Span] = (),
    *,
    joins_neighbours: bool = True,
) -> list[Span]:
    """The spans to keep, in order, with the `others`; those that overlap are joined, and those that
    touch if `joins_neighbours`. What the `terms` of a glossary cover is kept only if `keep` has
    it."""
    found = [*_outside([*_by_rules(text), *others], terms), *(keep.find(text) if keep else ())]
    joined: list[Span] = []
    for span in sorted(found):
        if joined and span.start < joined[-1].end + joins_neighbours:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def has_kept(text: str) -> bool:
    """Whether there are strings to keep by the rules."""
    return next(_by_rules(text), None) is not None


def _outside(spans: Iterable[Span], terms: Iterable[Span]) -> list[Span]:
    """The spans that the terms do not cover."""
    covered = {place for term in terms for place in range(*term)}
    return [span for span in spans if not covered.issuperset(range(*span))]


def occurs(string: str, text: str) -> bool:
    """Whether the string stands in the text as a word of its own."""
    return string in text and any(KeptStrings([string]).find(text))


def _by_rules(text: str) -> Iterator[Span]:
    if _HINT.search(text) or _HINT_IN_WORDS.search(text):
        delimited: list[Span] = []
        masked = _DELIMITED.sub(functools.partial(_mask, delimited), text)
        masked = without_fields(_BAR.sub(" ", masked) if "|" in text else masked)
        yield from _tokens(masked)
        yield from (_with_marks(_with_unit(span, text), text) for span in delimited)
        yield from _blocks(text)
        yield from (Span(*match.span()) for match in _COMPARED.finditer(text))
        yield from find_addresses(text)
        yield from find_statements(text)
    if "\n" in text and (signers := [*find_signers(text)]):
        yield from signers
        names = {text[slice(*signer)] for signer in signers}
        yield from KeptStrings(name for name in names if regex.match(r"\p{Lu}.* ", name)).find(text)
    if not text.isprintable() or "\ufffc" in text or "\ufffd" in text:
        yield from (Span(*match.span()) for match in _ODD.finditer(text))
    if not text.isascii() and _PILE.search(text):
        yield from (Span(*match.span()) for match in _PILES.finditer(text))


def _with_unit(span: Span, text: str) -> Span:
    """With the unit of the placeholder of a number."""
    last = text[span.end - 1]
    is_number = last == "}" or (text[span.start] == "%" and last in "dfiu")
    is_maybe = text[span.start] == "%" and last in "s@" and text.startswith(" ", span.end)
    unit = _UNIT.match(text, span.end) if is_number or is_maybe else None
    return Span(span.start, unit.end()) if unit else span


def _with_marks(span: Span, text: str) -> Span:
    """With the marks of emphasis around it: **{x}**."""
    start, end = span
    while start > 0 and end < len(text) and text[start - 1] == text[end] in _MARKS:
        start, end = start - 1, end + 1
    return Span(start, end)


def _mask(found: list[Span], match: regex.Match[str]) -> str:
    found.append(Span(*match.span()))
    return _MASK * len(match.group())


def _tokens(text: str) -> Iterator[Span]:
    """The tokens that look like code."""
    for match in _TOKEN.finditer(text):
        token = match.group()
        if not _PLAIN.fullmatch(token):
            if _PLACE.search(token) and (more := _PLACE_GOES_ON.match(text, match.end())):
                token += more.group()
            start, end = _trimmed(token)
            if _CODE.search(token[start:end]):
                yield Span(match.start() + start, match.start() + end)


def _trimmed(token: str) -> tuple[int, int]:
    """Where a token is without the sentence's marks, quotation marks and brackets around it."""
    counts = {char: token.count(char) for char in _PARTNERS}
    excess = {
        one: counts[one] - counts[other] if one != other else counts[one] % 2
        for one, other in _PARTNERS.items()
    }
    start, end = 0, len(token)
    while start < end:
        first, last = token[start], token[end - 1]
        if last in _END_MARKS:
            end -= 1
        elif excess.get(last, 0) > 0:
            excess[last] -= 1
            end -= 1
        elif excess.get(first, 0) > 0:
            excess[first] -= 1
            start += 1
        elif _PARTNERS.get(first) == last:
            start, end = start + 1, end - 1
        else:
            break
    return start, end if token.startswith("@", start) else _end_of_name(token, start, end)


def _end_of_name(token: str, start: int, end: int) -> int:
    """The end without what a sentence adds to a name: do_it's, and in German do_it-Aufruf."""
    if token.endswith("'s", start, end):
        return end - 2
    while (dash := token.rfind("-", start, end)) >= 0 and _COMPOUND.fullmatch(token, dash, end):
        end = dash
    return end


def _blocks(text: str) -> Iterator[Span]:
    """ICU plural, select and choice blocks, whole."""
    if not _BLOCK_HEAD.search(text):
        return
    partners, opened = {}, []
    for position, char in enumerate(text):
        if char == "{":
            opened.append(position)
        elif char == "}" and opened:
            partners[opened.pop()] = position + 1
    for match in _BLOCK_HEAD.finditer(text):
        if end := partners.get(match.start()):
            yield Span(match.start(), end)


def _is_inside_word(text: str, place: int) -> bool:
    """Whether letters or digits of an alphabet stand on both sides."""
    return 0 < place < len(text) and all(map(_LETTER.match, text[place - 1 : place + 1]))
