"""Numbers in French words; also those of Switzerland and Belgium."""

from __future__ import annotations


def split_words(text: str) -> list[str]:
    """The words of a list in the code."""
    return text.split()


_UNITS = split_words(
    """
    zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
    """
)
_ORDINALS = split_words(
    """
    premier deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième
    """
)
_MONTHS = split_words(
    """
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    """
)
FRENCH_NUMBERS = {
    **{word: value for value, word in enumerate(_UNITS)},
    **{word: value + 1 for value, word in enumerate(_ORDINALS)},
    **{name: number + 1 for number, name in enumerate(_MONTHS)},
    "une": 1,
    "première": 1,
    "second": 2,
    "seconde": 2,
    "demi": 2,
    "douzaine": 12,
    "midi": 12,
    "vingt": 20,
    "trente": 30,
    "quarante": 40,
    "cinquante": 50,
    "soixante": 60,
    "septante": 70,
    "quatre-vingt": 80,
    "quatre-vingts": 80,
    "huitante": 80,
    "octante": 80,
    "nonante": 90,
}
"""`quatre-vingts` is one word here; other compounds add up."""
FRENCH_SCALES = {
    "cent": 10**2,
    "cents": 10**2,
    "mille": 10**3,
    "milliers": 10**3,
    "milliard": 10**9,
    "milliards": 10**9,
}
