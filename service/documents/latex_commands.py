"""What the commands and environments of LaTeX and its usual packages do with their arguments."""

from __future__ import annotations

from collections.abc import Mapping


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


VERBATIM_ENVIRONMENTS = _names(
    "verbatim Verbatim BVerbatim LVerbatim SaveVerbatim lstlisting minted comment filecontents"
    " alltt spverbatim"
)
CODE_ENVIRONMENTS = _names(
    "equation align alignat flalign gather multline eqnarray math displaymath dmath IEEEeqnarray"
    " subequations array matrix pmatrix bmatrix cases tikzpicture tikzcd pgfpicture picture axis"
    " circuitikz forest algorithmic algorithm2e algorithmicx prooftree mathpar pspicture"
    " thebibliography code codeblock pycode asy xy"
)
"""Environments that stay as they are, as formulas do."""

SEPARATORS: Mapping[str, int | None] = {
    **dict.fromkeys(
        _names(
            "newline par newpage clearpage cleardoublepage maketitle tableofcontents listoffigures"
            " listoftables printindex appendix frontmatter mainmatter backmatter bigskip medskip"
            " smallskip vfill hfill hfil dotfill hrulefill quad qquad vskip hskip hline toprule"
            " midrule bottomrule endhead endfirsthead endfoot endlastfoot tabularnewline noalign"
        )
    ),
    **dict.fromkeys(_names(r"\ item linebreak pagebreak printbibliography addlinespace pause"), 0),
    **dict.fromkeys(
        _names(
            "vspace vspace* hspace hspace* cmidrule cline input include includegraphics"
            " includegraphics* includepdf bibliography bibliographystyle pagestyle thispagestyle"
            " usepackage RequirePackage documentclass graphicspath hypersetup includeonly"
            " usetikzlibrary lstset geometry selectlanguage pagenumbering addbibresource usetheme"
            " tikzset bibitem date author institute affiliation address email markboth titlespacing"
            " lstinputlisting hyphenation"
        ),
        1,
    ),
    **dict.fromkeys(
        _names(
            "setcounter addtocounter setlength addtolength rule setbeamertemplate inputminted"
            " setbeamercolor definecolors markright"
        ),
        2,
    ),
    **dict.fromkeys(_names("definecolor addcontentsline titleformat"), 3),
}
"""What stands between two texts, with the number of its arguments, which stay. None: it has no
options either."""
DEFINITIONS = _names(
    "newcommand newcommand* renewcommand renewcommand* providecommand newenvironment"
    " renewenvironment newtheorem newtheorem* DeclareMathOperator DeclareMathOperator*"
    " DeclareRobustCommand NewDocumentCommand RenewDocumentCommand def gdef edef xdef"
)
"""Commands that define others; so do these stand between two texts."""
BLOCKS: Mapping[str, int] = {
    **dict.fromkeys(
        _names(
            "part part* chapter chapter* section section* subsection subsection* subsubsection"
            " subsubsection* paragraph paragraph* subparagraph subparagraph* minisec addsec"
            " addchap caption caption* subcaption title subtitle subject frametitle framesubtitle"
            " legend keywords dedication fbox framebox centerline makebox frame"
        ),
        0,
    ),
    **dict.fromkeys(_names("captionof parbox scalebox raisebox rotatebox colorbox"), 1),
    **dict.fromkeys(_names("multicolumn multirow resizebox resizebox* fcolorbox"), 2),
}
"""Commands whose last argument is a text of its own, with the number of those before it."""
TITLES = _names("title subtitle subject keywords dedication")
"""Those whose text counts before the document begins, too."""
WITH_SHORT_TEXTS = _names(
    "part chapter section subsection subsubsection paragraph caption item frametitle subcaption"
    " title"
)
"""Those whose optional argument is a text."""

PAIRS: Mapping[str, int] = {
    **dict.fromkeys(
        _names(
            "emph textbf textit textsl textsc textsf textrm textup textmd textnormal underline"
            " uline uwave sout hl text enquote enquote* mbox textsuperscript textsubscript alert"
            " structure MakeUppercase textls so"
        ),
        0,
    ),
    **dict.fromkeys(_names("href textcolor foreignlanguage hyperlink hypertarget only uncover"), 1),
}
"""Commands whose last argument is a part of the sentence, with the number of those before it."""
SCRIPTS = _names("textsuperscript textsubscript")
NOTES = _names("footnote footnotetext thanks marginpar marginnote sidenote todo endnote")
"""Commands whose last argument is a text beside the sentence."""
DECLARATIONS = _names(
    "bf it em tt sc sf rm sl bfseries itshape slshape scshape ttfamily sffamily rmfamily upshape"
    " mdseries normalfont tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge"
    " centering raggedright raggedleft noindent indent protect color sloppy boldmath relax"
    " singlespacing onehalfspacing doublespacing"
)
"""Commands that change what follows."""
WORDS = _names(
    "texttt code url path nolinkurl ensuremath SI si qty unit num ang ce chem gls Gls glspl"
    " acrshort acrlong acrfull ac ref pageref eqref autoref cref Cref nameref vref mintinline"
    " lstinline keys menu file command cmd bibentry"
)
"""Commands that stay with their arguments, which may look like prose."""
MARKS = _names(
    "label index cite citep cites parencite autocite footcite supercite nocite footnotemark"
    " glsadd phantomsection xspace nobreak null strut unskip ignorespaces"
)
"""What is no word of the sentence."""
READINGS: Mapping[str, str] = {
    "LaTeX": "LaTeX",
    "LaTeXe": "LaTeX2e",
    "TeX": "TeX",
    "BibTeX": "BibTeX",
    "XeLaTeX": "XeLaTeX",
    "LuaLaTeX": "LuaLaTeX",
}

ENVIRONMENT_ARGUMENTS: Mapping[str, int] = {
    **dict.fromkeys(_names("tabular longtable minipage multicols column subfigure subtable"), 1),
    **dict.fromkeys(_names("tabular* tabularx tabulary wrapfigure wraptable adjustwidth list"), 2),
    **dict.fromkeys(
        _names(
            "document abstract quote quotation verse center flushleft flushright itemize enumerate"
            " description table table* figure figure* titlepage tabbing columns landscape"
        ),
        0,
    ),
}
"""The arguments of environments that are no text; other environments have what follows at once."""
TITLED_ENVIRONMENTS = _names("frame block alertblock exampleblock")
"""Environments whose arguments are texts."""

CHARACTERS: Mapping[str, str] = {
    **{sign: sign for sign in "%&#$_{}"},
    " ": " ",
    "\n": " ",
    "\t": " ",
    ",": "\u202f",
    "thinspace": "\u202f",
    "-": "",
    "/": "",
    "@": "",
    "ldots": "…",
    "dots": "…",
    "textellipsis": "…",
    "textendash": "–",
    "textemdash": "—",
    "textquotedblleft": "“",
    "textquotedblright": "”",
    "quotedblbase": "„",
    "glqq": "„",
    "grqq": "“",
    "textquoteleft": "‘",
    "textquoteright": "’",
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textasciigrave": "`",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textdegree": "°",
    "S": "§",
    "P": "¶",
    "copyright": "©",
    "textcopyright": "©",
    "textregistered": "®",
    "texttrademark": "™",
    "pounds": "£",
    "euro": "€",
    "EUR": "€",
    "texteuro": "€",
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "i": "ı",
    "j": "ȷ",
}
"""What commands without arguments read as."""
ACCENTS: Mapping[str, str] = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "r": "\u030a",
    "k": "\u0328",
}
"""Commands that put an accent on their argument, with the combining mark."""
INLINE = NOTES | DECLARATIONS | MARKS | WORDS | PAIRS.keys() | READINGS.keys() | CHARACTERS.keys()
"""Commands that are parts of sentences."""
