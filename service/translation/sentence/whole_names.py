"""Names of people and firms of which a part is also a word: networks make Julia cook of Julia Koch,
B. Junge of B. Young, and Cools GmbH of Koch Werkzeuge GmbH. Of people both names must be known, or
the first one be an initial or a degree."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

import regex

from model.text.spans import disjoint
from service.translation.language.short_texts import ShortTexts
from service.translation.sentence.replaced import Replacement

_FIRST = """
    Aaron Adam Adrian Alan Albert Alex Alexander Alexandra Alfred Alice Amanda Amy Andrea Andreas
    Andrew Andy Angela Anita Anja Anke Ann Anna Anne Annette Annika Anthony Antje Anton Armin
    Arthur Axel Barbara Beate Ben Benjamin Bernd Bernhard Betty Bill Birgit Björn Bob Boris Brian
    Britta Bruno Carl Carla Carlo Carmen Carol Carola Caroline Carsten Catherine Charles Charlie
    Charlotte Chris Christa Christian Christiane Christina Christine Christoph Christopher Clara
    Claudia Claus Cornelia Dagmar Daniel Daniela David Dennis Detlef Diana Dieter Dietmar Dirk
    Dominik Donald Doris Dorothea Edward Elena Elisabeth Elizabeth Elke Ella Ellen Emil Emily Emma
    Eric Erich Erik Erika Ernst Eva Fabian Felix Florian Franz Franziska Fred Friedrich Fritz
    Gabriele Georg George Gerd Gerhard Gisela Greg Günter Günther Hanna Hannah Hannes Hans Harald
    Harry Heidi Heike Heiko Heiner Heinrich Heinz Helen Helena Helga Helmut Henry Herbert Hermann
    Holger Horst Hugo Ian Ines Inga Inge Ingo Ingrid Irene Iris Isabel Isabella Jack Jacob Jakob
    James Jan Jana Jane Janine Jason Jeff Jennifer Jenny Jens Jessica Jim Joachim Joan Jochen Joe
    Johann Johanna Johannes John Jonas Jonathan Josef Joseph Judith Julia Julian Juliane Julie
    Jutta Jörg Jürgen Kai Karen Karin Karina Karl Karla Karsten Kate Katharina Kathrin Katja
    Katrin Kerstin Kevin Kim Klara Klaus Konrad Kristina Kurt Lars Laura Laurence Lea Lena Leo
    Leon Leonie Linda Lisa Lothar Louise Luca Lucy Ludwig Luis Luisa Lukas Lydia Manfred Manuel
    Manuela Marc Marcel Marco Marcus Margaret Margarete Maria Marianne Marie Marina Mario Marion
    Marko Markus Marlene Martha Martin Martina Mary Mathias Matthew Matthias Max Maximilian
    Melanie Mia Michael Michaela Michelle Mike Miriam Monika Moritz Nadine Nancy Natalie Nico
    Nicole Niklas Nina Norbert Oliver Olivia Oskar Otto Patricia Patrick Paul Paula Pauline Peter
    Petra Philip Philipp Rachel Rainer Ralf Rebecca Regina Reinhard Renate Richard Rita Robert
    Roger Roland Rolf Ronald Rosa Rosemarie Roy Rudolf Ruth Sabine Sabrina Sally Sam Samantha
    Samuel Sandra Sara Sarah Sascha Sebastian Siegfried Sigrid Silke Silvia Simon Simone Sofia
    Sonja Sophia Sophie Stefan Stefanie Steffen Stephan Stephanie Stephen Steve Steven Susan
    Susanne Sven Sylvia Tanja Tatjana Theo Theresa Thomas Thorsten Tim Timo Tina Tobias Tom Toni
    Tony Torsten Udo Ulf Ulla Ulrich Ulrike Ursula Uta Ute Uwe Vanessa Vera Verena Victor Victoria
    Viktoria Volker Walter Waltraud Werner Wilhelm Willi William Willy Wolfgang
    """
"""No words of English or German."""
_LAST = """
    Adler Bach Bachmann Baker Banks Barber Bauer Baum Beck Beckenbauer Becker Bell Berg Berger
    Best Binder Bird Bishop Black Bond Brand Brandt Braun Brooks Brown Busch Bush Butler Böhm
    Carpenter Carter Chandler Church Cook Cooper Cox Cross Day Decker Dreher Eagle Engel Engels
    Farmer Fields Finch Fischer Fisher Ford Forster Foster Fox Frank Franke Freeman Freitag Frost
    Fröhlich Fuchs Färber Gardener Gardner Gates Geiger Gerber Glaser Gold Goodman Graf Grant Gray
    Green Gross Groß Gruber Gärtner Günther Haas Hahn Hammer Hart Hartmann Hase Hauser Heller
    Herzog Hesse Hill Hirsch Hoffmann Hofmann Holz Horn Huber Hunter Jobs Jung Jäger Kaiser
    Kaufmann Keller Kern Kessler King Klein Knight Koch Kohl Kraft Kramer Krause Krebs Krug Krämer
    Krüger Kurz Köhler König Kühn Lamb Lang Lange Lehmann Linde Lindner Little Long Löwe Mann
    Marks Marshall Mason Maurer May Mayer Mehl Meier Meister Mercury Merkel Metzger Meyer Miller
    Moon Möller Müller Nagel Neumann Newman Noble Page Park Parker Pfeffer Pfeiffer Piper Pohl
    Pope Porter Potter Price Rabe Reich Reiter Rice Rich Richter Ritter Rivers Rock Rose Roth
    Sander Sauer Scharf Schenk Schiller Schlüter Schmid Schmidt Schmied Schmitt Schneider Scholz
    Schreiber Schreiner Schröder Schubert Schulz Schulze Schumacher Schuster Schwab Schwarz
    Schäfer Schön Schütz Schütze Seiler Sharp Shepherd Short Silver Singer Small Smith Snow Sommer
    Sonntag Specht Spencer Stark Stein Stern Stone Storch Strauß Street Strong Sturm Sweet Swift
    Tanner Taylor Thaler Tischler Turner Töpfer Unger Vogel Vogt Wagner Wald Walker Waters Weaver
    Weber Weiss Weiß Wells West White Wiese Wild Winkler Winter Wirth Wise Wolf Wolff Wood Woods
    Wright Young Ziegler Zimmer Zimmermann
    """
_INITIALS = [f"{letter}." for letter in string.ascii_uppercase]
_TITLES = ("Dr.", "Prof.", "Professor")
_KNOWN = frozenset([*_FIRST.split(), *_INITIALS, *_TITLES])
_MAYBE = re.compile(r" (?:[A-ZÄÖÜ]|v[ao]n |e\.|gG)")
_BEFORE_LAST = re.compile(r"[A-ZÄÖÜ][a-zäöü]*+\.?+(?= [A-ZÄÖÜv])")
"""Of either language: one cheap look. `_MAYBE`: before the last part of a name or firm."""
_NAME = regex.compile(
    r"(?<![\p{L}\p{N}_]|[\p{L}\p{N}][-.'’])"
    r"(?:\L<first>(?:[ -]\L<first>)?(?: \p{Lu}\.)?|\p{Lu}\.(?:[ -]?\p{Lu}\.)?|\L<titles>)"
    r" (?:(?:v[ao]n )?\L<last>(?:-\L<last>)?|(?<=\L<first> \p{Lu}\. )\p{Lu}\p{Ll}++(?<!s))"
    r"(?P<genitive>s)?(?![\p{L}\p{N}_]|[-*:.]\p{L})",
    first=_FIRST.split(),
    last=_LAST.split(),
    titles=_TITLES,
)
_FORM = (
    r"(?:(?:g?GmbH|AG|KG|OHG|SE|UG)\b(?: & Co\. (?:KG|OHG)(?:aA)?\b)?|e\. ?[KV]\."
    r"|(?:Inc|Ltd|Corp)\b(?:\.(?!\Z))?|LL[CP]\b|P[Ll][Cc]\b)"
)
_NO_FIRM = (
    r"(?:(?i:[dms]ein|ihr|unse?r|eue?r|k?ein|dies|jed|manch|welch)e?[mnrs]?|D(?:ie|as|e[mnrs])|Firma"
    r"|Unternehmen|A[nm]|Bei|Von|Für|Mit|Als|The|Our|Your|This|Company|At|By|For|From|In|To|With) "
)
_FIRM = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}_]|[\p{{L}}\p{{N}}][-.'’])(?!{_NO_FIRM}|{_FORM} )"
    rf"(?P<word>\p{{Lu}}[\p{{L}}\p{{N}}'’-]*+)"
    rf"(?P<more>(?: (?:(?:&|und|and) )?(?!{_FORM})\p{{Lu}}[\p{{L}}\p{{N}}'’-]*+){{0,3}}+)"
    rf",? {_FORM}(?![-\p{{L}}\p{{N}}_])"
)
_MAYBE_FIRM = re.compile(r" (?:g?GmbH|AG|KG|OHG|SE|UG|e\. ?[KV]\.|Inc|Ltd|Corp|LL[CP]|P[Ll][Cc])")
_LEAST_USUAL = 4.0
"""The frequency of a word that is no name."""


def may_have_whole_names(text: str) -> bool:
    """Whether a text may have such names: one cheap look for each kind."""
    if _MAYBE.search(text) is None:
        return False
    return not _KNOWN.isdisjoint(_BEFORE_LAST.findall(text)) or bool(_MAYBE_FIRM.search(text))


def find_whole_names(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The names, which are the same in both languages."""
    if {source, target} == {"de", "en"} and may_have_whole_names(text):
        firms = [*_firms(text, source)] if _MAYBE_FIRM.search(text) else []
        yield from disjoint([*firms, *_people(text)])


def _people(text: str) -> Iterator[Replacement]:
    for found in _NAME.finditer(text):
        name = f"{found[0][:-1]}'s" if found["genitive"] else found[0]
        yield Replacement(*found.span(), name)


def _firms(text: str, language: str) -> Iterator[Replacement]:
    for found in _FIRM.finditer(text):
        start, end = found.span()
        begins = language == "en" and not text[:start].rstrip()[-1:].isalnum()
        if begins and found["more"] and _is_usual(found["word"]):
            start += len(found["word"]) + 1
        yield Replacement(start, end, text[start:end])


def _is_usual(word: str) -> bool:
    """Whether a word that begins an English sentence is no name."""
    return word not in _LAST and ShortTexts.load().frequency(word.lower(), "en") >= _LEAST_USUAL
