"""Every regular expression that reads what clients send takes time linear in it, also in texts
that it almost accepts."""

from __future__ import annotations

import ast
import functools
import importlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import regex

from tests.growth import takes_less

ROOT = Path(__file__).parents[2]
OWN_DATA = ROOT / "model/training"
"""Its expressions read the corpora of whoever trains."""
EXAMPLES: dict[str, object] = {
    "any_of": "1|2",
    "mark": ";",
    "name": "su[bp]",
    "others": "b|c",
    "names": "alt|w:val",
    "own": SimpleNamespace(decimal=",", grouped=r"\d{1,3}(?:\.\d{3})+"),
    "pattern": r"(<(?:a|b))(?=[\s/>])",
    "plain": "a",
    "self": SimpleNamespace(_names="a|b", placeables=["{ $a }", "{b}"]),
    "spellings": ["1", "2"],
    "tag": SimpleNamespace(name="b"),
    "tags": r"\w+:p|w:t",
    "texts": "a|ab c",
    "types": r"drawing|\w+",
    "whole": r"\d+",
    "words": "a|b",
}
"""The values of names in the expressions that functions make."""
CHARACTERS = "aAzZx19 \t\n.,:;-_'\"/\\<>()[]{}=&%$@#*+!?|~^`©€éµ\u0301中ก。\ufe0f"
"""Some of each kind that expressions tell apart."""
MOST_REPEATED, WIDTH, NUM_TRIED = 6, 24, 60
"""How long the repeated strings are, how many beginnings of each length are looked at, and how many
strings are tried of each expression."""
LENGTH = 500


class Expression(NamedTuple):
    """`is_searched`: a match may begin anywhere in a text."""

    name: str
    pattern: regex.Pattern[str]
    is_searched: bool

    def read(self, text: str) -> None:
        if self.is_searched:
            for _ in self.pattern.finditer(text):
                pass
        else:
            self.pattern.match(text)


def expressions() -> Iterator[Expression]:
    """Those of all modules. Raises NameError for one of a function whose names have no example."""
    for path in sorted([*ROOT.glob("service/**/*.py"), *ROOT.glob("model/**/*.py")]):
        source = path.read_text(encoding="utf-8")
        if OWN_DATA in path.parents or not re.search("^import (re|regex)$", source, re.MULTILINE):
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for key, value in vars(module).items():
            for pattern in patterns_in(value):
                yield Expression(f"{path}: {key}", pattern, is_searched(key, source))
        yield from made_in_functions(module, source)


def patterns_in(value: object) -> Iterator[regex.Pattern[str]]:
    if isinstance(value, regex.Pattern):
        yield value
    elif isinstance(value, re.Pattern):
        yield regex.compile(value.pattern, value.flags & ~re.UNICODE)
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from patterns_in(one)


def is_searched(name: str, source: str) -> bool:
    """Whether a module uses any method of a pattern but `match` and `fullmatch`."""
    methods = re.findall(rf"\b{name}\.(\w+)", source)
    return not methods or not {"match", "fullmatch"}.issuperset(methods)


def made_in_functions(module: ModuleType, source: str) -> Iterator[Expression]:
    functions = (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef))
    for node in (node for function in functions for node in ast.walk(function)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                searched = is_searched(name, source)
            case ast.Call(func=ast.Attribute(attr=method)) as call:
                searched = method not in ("match", "fullmatch", "compile")
            case _:
                continue
        match call.func:
            case ast.Attribute(value=ast.Name(id="re" | "regex"), attr=method) if (
                method != "escape"
            ):
                written = eval(ast.unparse(call.args[0]), {**vars(module), **EXAMPLES})
                yield Expression(
                    f"{module.__file__}: {call.lineno}", regex.compile(written), searched
                )


def almost_accepted(
    pattern: regex.Pattern[str], rng: random.Random
) -> Iterator[tuple[str, str, str]]:
    """A beginning, a string that may be repeated after it while a match is still possible, and an
    end."""
    alphabet = sorted({*CHARACTERS, *pattern.pattern})
    beginnings, found = [""], []
    for _ in range(MOST_REPEATED):
        longer = [text + char for text in beginnings for char in alphabet]
        longer = [text for text in longer if may_go_on(pattern, text)]
        beginnings = rng.sample(longer, min(WIDTH, len(longer)))
        cuts = [(text[:at], text[at:]) for text in beginnings for at in range(len(text))]
        found += [cut for cut in cuts if may_go_on(pattern, cut[0] + 4 * cut[1])]
    for beginning, part in rng.sample(found, min(NUM_TRIED, len(found))):
        yield beginning, part, "\0"
        yield beginning, part, rng.choice(CHARACTERS)


def may_go_on(pattern: regex.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text, partial=True) is not None


def is_linear(expression: Expression, strings: tuple[str, str, str]) -> bool:
    """Whether four times the text takes about four times as long: of each of two sizes, since a
    small one takes so little that another process may disturb it."""
    beginning, part, end = strings

    def grows_linearly(length: int) -> bool:
        short, long = (
            functools.partial(expression.read, beginning + part * (size // len(part)) + end)
            for size in (length, 4 * length)
        )
        return takes_less(long, 9, short, 0.0003)

    return grows_linearly(LENGTH) or grows_linearly(4 * LENGTH)


def slow_text(expression: Expression) -> tuple[str, str, str] | None:
    tried = almost_accepted(expression.pattern, random.Random(1))
    return next((strings for strings in tried if not is_linear(expression, strings)), None)


def test_every_expression_takes_linear_time() -> None:
    assert not {one.name: text for one in expressions() if (text := slow_text(one))}


def test_quadratic_expressions_are_found() -> None:
    suffix = regex.compile(r"(?:'s|(?:-\p{Lu}\p{Ll}{2,})+)$")
    nested = regex.compile(r"</?[\w.]+[^<>]*+>")
    for pattern, searched in ((suffix, True), (regex.compile(r"\s+$"), True), (nested, False)):
        assert slow_text(Expression("", pattern, searched)), pattern.pattern
