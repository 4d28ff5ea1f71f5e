"""Where a sentence goes on although sentencex cuts it: after abbreviations and ordinals, and after
a quotation in Chinese.

The abbreviations are from the sentence suppressions of the CLDR (Unicode licence), without those
that are words too, and from what sentencex cuts beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import regex

from service.translation.language.codes import primary

_LONGEST_END = 60
_ABBREVIATIONS = {
    "de": r"""
        Abb Abh Abschn Abt Anh Anm Aufl Ausg Bde? Betr Bibl Dipl Dir Dr Dtzd Durchm Einh Erf Fa Fam
        Fn Frl Ges Gebr Geschw Hptm Hrn Hrsg Ing Inh Kap Kfm Mio Mrd Nrn? Oblt Präs Prof Prot Spezif
        Stv Tab Tel Tsd Univ Verf Vors Ziff abzgl allg amsl amtl bayer bearb bes betr bez bspw bzgl
        dt ehem eigtl einschl engl entspr erw ev exkl franz frz geb gedr gek gem gesch gest gg ggfs?
        ggü griech hrsg inkl insb(?:es)? ital jew jhrl jährl kfm kgl lat led max med mind misc
        monatl mtl möbl nat näml od oec phil resp röm russ schwäb schweiz sog span stellv südd techn
        theol tägl ungef urspr verh vermutl versch verw wahrsch wiss wöch z\.\s?(?:Hd|K) zw zzgl
        österr \p{Ll}{3,}[bdgkptzn]l \p{Lu}\p{Ll}{3,}[tz]l überarb hrsg Urt USt
        Abs Bhf Bj Jhd?t? Ltg Msp Nds Pck Pkg Wfl geschl stv tgl
        Hbf Red Sek Stk durchschn insg lt voraussichtl
        Bf Pers Stck Whg Zi gez (?:Bio|Wo)(?<=\d\s?\p{L}+)
        """,
    "en": r"""
        Lt\.Cdr Mgr Ms Phys approx appt attn avg chap dept eqs? est excl figs? govt incl max misc
        refs? resp vols? al LLC pct pcs qty ch eds? ext hrs? lbs? mins? oz secs tel temp wks yrs
        Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun paras? lit
        Apt Atty Mx Rm Ste asts ft gal lb pts qt rebs tbsp tsp yd yds \ufffc(?<=\d\s\ufffc)
        """,
    "es": r"""
        Cía Col Da Dña Drs Dª Excm[ao]s? Fr Ilm[ao]s? L[ct]?d[ao] Mons Rdos? Rev Rvdm?os? Sras Sres
        Srtas? aprox cap cfr? col dptos? deptos? dtor ed figs? hnos licd[ao] pág prov sras srs trad
        vol
        """,
    "fr": r"""
        \p{Lu} Mr Mme Mlle MM Dr Pr Prof Ste? adr anc append art av ap bull cf chap coll collab dest
        dict dir édit env équiv ex fig gouv hôp illustr n° pp? réf symb syst tél vol
        janv févr avr juil sept oct nov déc
        """,
    "it": r"""
        Geom Ing Liv avv arch art cap cfr dott fig mitt pagg? prof sez sig tavv? tab vol
        """,
    "nl": r"""
        blz bijv ca dhr drs? evt gem incl excl ing mevr mw nr prof
        """,
    "pt": r"""
        Av Dir Exma Fr Ilm[ao] N\.Sra Pe Profa? Sr[as]? Sta aprox apt cap cf cód col dir ed fig pág
        séc tel vol jan fev mar abr mai jun jul ago set out nov dez
        """,
    "ru": "проф рис стр тыс ул янв февр мар апр июн июл авг сент окт нояб дек",
    "hu": "dr ifj kb stb ún febr márc ápr máj jún júl szept okt",
    "is": "jún júl ágú okt nóv des",
    "lv": "janv febr jūn jūl okt",
    **dict.fromkeys(("nb", "nn", "no"), "okt des"),
    "sl": "avg okt",
    "sv": "okt",
}
"""By language, patterns of what stands before a point within a sentence. Those in small letters may
have a capital."""
_ALSO_LAST = frozenset(
    {
        *("Art", "Col", "Dir", "Ed", "Led", "Max", "Phil"),
        *("al", "LLC", "pct", "pcs", "qty", "ch", "eds?", "ext", "hrs?", "lbs?", "mins?", "oz"),
        *("secs", "tel", "temp", "wks", "yrs", "Jhd?t?", "Pkg", "geschl"),
        *("asts", "ft", "gal", "lb", "pts", "qt", "rebs", "tbsp", "tsp", "yd", "yds"),
        r"\ufffc(?<=\d\s\ufffc)",
        *("Mon", "Tue", "Tues", "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun"),
    }
)
"""Names, kept units and those that often end a sentence: not before small letters and digits."""
_ORDINAL_LANGUAGES = frozenset(
    {
        *("bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lt", "lv", "nb", "nn", "no"),
        *("pl", "sk", "sl", "sr", "tr"),
    }
)
"""Where 19. is the 19th."""
_NUMBER_END = regex.compile(r"(?<![\p{L}\p{N}.,])\d{1,4}\.\s*$")
_SMALL_LETTER = regex.compile(r"\p{Ll}")
_SMALL_OR_DIGIT = regex.compile(r"[\p{Ll}\d]")
_AFTER_ARTICLE = regex.compile(
    r"(?<![\p{L}\p{N}])(?:[ai]m|beim|vo[mn]|zu[mr]|ins?|d(?:e[rmns]|ie|as)|diese[rmns]?"
    r"|jede[rmns]?|(?:[mds]ein|ihr|unser|eur)e?[rmns]?)"
    r"\s(?:\d{1,3}\.(?:,|\s?(?:und|oder|bis|u\.|[/–-]))\s?){0,4}\d{1,3}\.\s*$",
    regex.IGNORECASE,
)
_GERMAN_NOUN = regex.compile(
    r"(?:Jahrhundert|Jahrtausend|Jhd?t?\.|Weltkrieg|Stock|Etage|Obergeschoss|Untergeschoss|Auflage"
    r"|Bundesliga|Geburtstag|Jahrestag|Lebensjahr|Schuljahr|Semester|Quartal|Halbjahr|Spieltag"
    r"|[DOU]G|Platz|Rang|Klasse|Halbzeit|Advent|Spielminute"
    r"|Jänner|Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober"
    r"|November|Dezember|(?:Jan|Febr?|Apr|Aug|Sept?|Okt|Nov|Dez)\.)(?:e[ns]?|s)?(?!\p{L})"
)
"""Nouns that have an ordinal before them."""
_GERMAN_BEGINNING = regex.compile(
    r"(?:Aber|Alle[rs]?|Als|Am|An|Auch|Auf|Aus|Bei|Bis|Da(?:nach|nn|rum|s)?|De[mnr]|Denn|Deshalb"
    r"|Die(?:se[mnrs]?)?|Doch|Dort|Du|Durch|Ein(?:e[mnrs]?|ige)?|Er|Es|Für|Gestern|Heute|Hier|Ich"
    r"|Ih[mnr]e?n?|Im|In|Ja|Je(?:de[mnrs]?|tzt)|Kein(?:e[mnrs]?)?|Man|Mein(?:e[mnrs]?)?|Mit|Nach"
    r"|Nein|Nicht|Nun|Ob|Oder|Sein(?:e[mnrs]?)?|Seit|Sie|So|Trotzdem|Über|Um|Und|Uns(?:er[emns]*)?"
    r"|Unter|Viele|Vo[mnr]|Während|Wann|War|Warum|Was|Weil|Wenn|Wer|Wie|Wir|Wo|Zu[mr]?|Zuerst"
    r")(?!\p{L})"
)
_HYPHEN = regex.compile(r"[-–]\p{L}")
_HALF_DAY_END = regex.compile(r"\d\s?[ap]\.\s?m\.\s+$", regex.IGNORECASE)
_OF_HALF_DAY = regex.compile(
    r"(?:[ECMP][SD]?T|GMT|UTC|BST|CES?T"
    r"|(?!(?:A|An?other|Any|Each|Every|First|Last|Next|No|One|Some|Th\p{Ll}+)\s)(?:\p{Lu}\p{L}+\s){1,3}[Tt]ime"
    r"|(?:Eastern|Central|Mountain|Pacific)(?=[,.;)]|$)"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?(?=[,.;:!?)]|$|\s(?:and|at|for|in|on|or|t[ho])))\b"
)
"""A time zone or a day behind 3 p.m."""
_QUOTATION_END = regex.compile(r"[。！？!?…][”’」』\"']\s*$")
_TITLE_END = regex.compile(r"[。！？!?…][》〉]\s*$")
_QUOTING = frozenset({"zh", "yue", "wuu", "ja"})
_SPEECH = regex.compile(
    r"[^没沒不被，。！？：；、“”‘’「」『』\"']{0,8}"
    r"(?:[说說道问問答喊叫嚷吼]++|回应|回應|表示|补充|補充|心想)(?![“‘「『：])"
)
_GOES_ON = regex.compile(r"[，、；,;的之是]|[然随隨]后|[然隨]後|[这這][句话話篇]|と|って")
"""How a sentence goes on after a quotation."""


def rejoined(sentences: Sequence[str], language: str) -> Sequence[str]:
    """The sentences of one line, each joined to the one before if that goes on."""
    code = primary(language)
    joined = [sentences[0]]
    for sentence in sentences[1:]:
        if _goes_on(joined[-1][-_LONGEST_END:], sentence, code):
            joined[-1] += sentence
        else:
            joined.append(sentence)
    return joined


def _goes_on(end: str, following: str, code: str) -> bool:
    """Whether the sentence with this end goes on with what follows."""
    if code in _QUOTING:
        return _goes_on_after_quotation(end, following)
    if code in _ABBREVIATIONS and _ends_with_abbreviation(end, following, code):
        return True
    if code not in _ORDINAL_LANGUAGES or not _NUMBER_END.search(end):
        return False
    if _SMALL_LETTER.match(following):
        return True
    return code == "de" and _is_german_ordinal(end, following)


def _ends_with_abbreviation(end: str, following: str, code: str) -> bool:
    if code == "en" and _HALF_DAY_END.search(end) and _OF_HALF_DAY.match(following):
        return True
    if _HYPHEN.match(following) and not end[-1].isspace():
        return True
    match = _abbreviations(code).search(end)
    return match is not None and (
        match["last"] is None or _SMALL_OR_DIGIT.match(following) is not None
    )


@cache
def _abbreviations(code: str) -> regex.Pattern[str]:
    listed = _ABBREVIATIONS[code].split()
    words = dict.fromkeys([*listed, *(word[0].upper() + word[1:] for word in listed)])
    plain = "|".join(word for word in words if word not in _ALSO_LAST)
    others = "|".join(word for word in words if word in _ALSO_LAST) or r"\b\B"
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{plain}|(?P<last>{others}))\.[\s-]*$")


def _is_german_ordinal(end: str, following: str) -> bool:
    if _GERMAN_NOUN.match(following):
        return True
    return _AFTER_ARTICLE.search(end) is not None and not _GERMAN_BEGINNING.match(following)


def _goes_on_after_quotation(end: str, following: str) -> bool:
    """Whether the quotation or title that ends here is a part of a longer sentence."""
    if _TITLE_END.search(end):
        return True
    says_who = _GOES_ON.match(following) or _SPEECH.match(following)
    return says_who is not None and _QUOTATION_END.search(end) is not None
