"""The patterns of strings that a translation must keep. Each takes linear time."""

from __future__ import annotations

LATIN = r"A-Za-z0-9_\u00C0-\u024F"
_ELSE = rf"(?<![{LATIN}])"
_FILE_TYPES = """
    avi bat bin bmp c cfg conf cpp csv css dat db dll doc docx epub exe gif go gz h htm html ini
    iso jar java jpeg jpg js json log lua md mkv mov mp3 mp4 odt ogg pdf php png ppt pptx ps1 py
    rar rb rs rst rtf sh so sql srt svg tar tex toml ts tsv txt wav webm webp xls xlsx xml yaml
    yml zip
"""
_FILE = "|".join(_FILE_TYPES.split())
_DOMAINS = "com|org|net|edu|gov|io|dev|app|info|de|ch|cn|eu|uk|fr|jp|ai"

PATTERNS: tuple[tuple[str, str], ...] = (
    # Braces: {{x}}, {% x %}, ${x} %{x} #{x} @{x}, {} {0} {name} {0:d} {n, number}
    (
        "{",
        r"\{\{\{?[^{}\n]{1,200}\}?\}\}"
        r"|\{%[^{}\n]{1,200}%\}"
        r"|[$%#@]\{[^{}\n]{0,200}\}"
        r"|\{\s*+[\w.$@-]*+(?:\[[^\]\s{}]{0,80}\])?\s*+(?:[:!,][^{}\n]{0,80})?\}",
    ),
    # printf, Python, Objective-C, Qt; not "100% sure"
    (
        "%",
        r"%%"
        r"|%\([^()\n]{1,80}\)[-+#0-9.]*+[A-Za-z]"
        r"|(?<!\d)%(?:\d{1,2}\$)?[-+#0]*+(?:\d++|\*)?(?:\.(?:\d++|\*))?"
        r"(?:hh?|ll?|[Lzjtq])?(?:[sdiufx@]|[oXeEFgGaAcCSpn](?![A-Za-z]))"
        r"|(?<!\d)%L?\d{1,2}(?![\d$])"
        r"|(?<!\d)%[A-Za-z_]\w{0,80}%",
    ),
    ("$", rf"(?<![$\w])\$(?:[A-Za-z_]\w+(?:/[{LATIN}.@+~-]+)*|t\([^()\n]{{1,80}}\))"),
    # :name (not 12:30 or a::b), :smile:
    (":", rf"(?:(?<=[\s(\[\"'])|^):[a-z_][a-z0-9_]+(?![{LATIN}:/])|{_ELSE}:[a-z0-9_+-]{{2,40}}:"),
    ("[", r"\[[A-Z]\d+[A-Z]?\]|\[\d{1,4}\]"),
    ("⟦", r"⟦[^⟦⟧\s]{0,20}⟧|⟦"),
    ("⟧", r"⟧"),
    # https://a.b/c, www.a.b, a@b.c, a.com
    (
        "://",
        r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s<>\"“”«»`{}|\\^\p{Han}，。；：！？、（）《》\ufffc]+",
    ),
    ("www.", r"(?<![\w.])www\.[^\s<>\"“”«»`{}|\\^\p{Han}，。；：！？、（）《》\ufffc]+"),
    (
        "@",
        r"(?<![A-Za-z0-9\u00C0-\u024F._%+-])(?:mailto:)?[A-Za-z0-9\u00C0-\u024F._%+-]++"
        r"@[A-Za-z0-9\u00C0-\u024F-]++(?:\.[A-Za-z0-9\u00C0-\u024F-]++)+"
        rf"|(?<![{LATIN}@.])@[A-Za-z0-9_]{{2,}}+(?:[.-][A-Za-z0-9_]++)*+"
        r"(?:@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++)?",
    ),
    (
        ".",
        rf"(?<![\w.@/-])(?:[A-Za-z0-9-]++\.)+(?:{_DOMAINS})(?![{LATIN}-])(?:/[^\s<>\"“”`{{}}\p{{Han}}，。；：！？、（）]*)?"
        rf"|(?<![{LATIN}.@/-])(?:\.{{0,2}}/)?(?:[{LATIN}.-]++/)*+[{LATIN}-]++(?:\.[{LATIN}-]++)*?\.(?:{_FILE})(?![{LATIN}-])",
    ),
    # /etc/hosts, ~/x, ./x, C:\x
    (
        "/",
        rf"(?<![{LATIN}/.:~<])(?:~|\.{{1,2}})?(?:/[{LATIN}.@+~-]+){{2,}}+/?"
        rf"|(?:(?<=[\s(\"'“„:])|^)(?:(?:~|\.{{1,2}})/[{LATIN}.@+~-]+|/[{LATIN}.@+~-]{{2,}}+)/?",
    ),
    (
        "\\",
        rf"{_ELSE}[A-Za-z]:\\[^\s/:*?\"<>|，。]*+|\\\\[{LATIN}.$-]+(?:\\[{LATIN}.$-]+)+"
        r"|\\[nrt](?![a-z])|\\[\"']",
    ),
    ("`", r"```[^`]+```|``(?:[^`\n]++|`(?!`))++``|`[^`\n]+`"),
    # v1.2, 1.2.3-rc.1; not 24.12.2024 or 1.000.000
    (
        ".",
        rf"{_ELSE}(?<!\d\.)(?:v\d++(?:\.\d++)++"
        r"|(?!\d{1,2}\.\d{1,2}\.\d{2,4}(?![\d.]))(?!\d{1,3}(?:\.\d{3})+(?![\d.]))\d++(?:\.\d++){2,}+)"
        r"(?:-[0-9A-Za-z]++(?:\.[0-9A-Za-z]++)*+)?",
    ),
    (
        "-",
        rf"{_ELSE}\d{{4}}-\d\d-\d\d"
        rf"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![{LATIN}-])"
        rf"|{_ELSE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}(?![{LATIN}-])",
    ),
    (
        "#",
        r"(?<![\w&/])#(?:[A-Za-z0-9_\u00C0-\u024F]*+(?<=[A-Za-z_\u00C0-\u024F\d])(?<!#\d{1,9})|[^\W\d]\w*)",
    ),
    # max_count, do_it(), do_it
    ("_", rf"{_ELSE}_*[A-Za-z0-9]++(?:_++[A-Za-z0-9]++)++_*(?:\(\))?(?![{LATIN}])"),
    ("()", rf"{_ELSE}[A-Za-z][A-Za-z0-9]*+\(\)"),
    # Names as they are written in angle brackets, and references, where they are text
    ("<", r"</?[A-Za-z][\w:.-]*+(?:\s*+/?>|\s[^<>=\n]*+=[^<>\n]*+>)"),
    ("&", r"&(?:[A-Za-z]{2,8}\d{0,2}|#\d{1,7}|#x[0-9a-fA-F]{1,6});"),
)
"""Each pattern, and a string that every match has."""
