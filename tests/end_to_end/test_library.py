"""The library: its pages show what it does, and it is a good guest in a program."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import doctest
import gc
import itertools
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import (
    AsyncTranslator,
    GlossaryEntry,
    InvalidField,
    Translator,
    UnsupportedLanguage,
)
from dragoman.options import DetailOptions
from service.http.translate_request import TranslateRequest

ROOT = Path(__file__).parents[2]
OF_REQUESTS = {"q", "source", "target", "api_key", "secret"}
CATS = [f"I have {number} cats." for number in range(100)]
FORK = """
import os
import dragoman
with dragoman.Translator("en-de", device="cpu", max_slots=4) as translator:
    if not (child := os.fork()):
        raise SystemExit(7)  # leaves the block
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(translator.translate("Good morning.", source="en", target="de"))
"""
ENDS = """
import dragoman
class Service:
    def __init__(self):
        self.translator = dragoman.Translator("en-de", device="cpu", max_slots=4)
    def say(self):
        return self.translator.translate("Good morning.", source="en", target="de")
    def __del__(self):
        try:
            self.say()
        except RuntimeError as error:
            print(error)
        self.translator.close()
def service():
    with dragoman.Translator("en-de", device="cpu", max_slots=4) as translator:
        yield translator
fixture, one = service(), Service()
next(fixture)
print(one.say())
"""
GUEST = """
import sys
import dragoman
assert not {"torch", "numpy", "pydantic", "click"} & sys.modules.keys(), sys.modules.keys()
translator = dragoman.Translator("zh-en", device="cpu")
open("a.md", "w").write("# Good *morning*")
print(translator.translate("Good morning.", target="zh", format="html"), file=sys.stderr)
print(translator.translate_file("a.md", source="en", target="zh"), file=sys.stderr)
print(translator.translate_detailed("Hello.", target="zh", details="search"), file=sys.stderr)
print(sorted({"torch", "fastapi", "starlette", "uvicorn"} & sys.modules.keys()))
"""


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator("en-de", device="cpu", max_slots=16) as translator:
        yield translator


def run(program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that has the code on its path, behind what is in the directory."""
    (directory / "program.py").write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_examples_of_a_page_give_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append, clear_globs=True)
    assert result.attempted > 1
    assert not result.failed, "".join(told)


def test_the_options_are_the_fields_of_a_request() -> None:
    assert set(DetailOptions.__annotations__) == TranslateRequest.names - OF_REQUESTS


def test_every_name_of_the_package_is_there() -> None:
    assert all(getattr(dragoman, name) for name in dragoman.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dragoman.nothing  # noqa: B018


def test_a_script_loads_little_and_runs_once_beside_modules_of_the_same_names(
    tmp_path: Path,
) -> None:
    """A process that is started anew would run a script without a guard once more."""
    for name in ("model", "service"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError", encoding="utf-8")
    ended = run(GUEST, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


def test_a_module_of_the_same_name_that_is_imported_already_is_told(tmp_path: Path) -> None:
    (tmp_path / "service.py").touch()
    ended = run("import service, dragoman", tmp_path)
    assert "ImportError: dragoman has a package service of its own" in ended.stderr


def test_texts_of_many_threads_are_translated_as_alone(translator: Translator) -> None:
    with ThreadPoolExecutor(8) as pool:
        one_by_one = pool.map(lambda text: translator.translate(text, target="de"), CATS)
        assert [*one_by_one] == translator.translate(CATS, target="de")


def test_endless_texts_are_read_a_bounded_number_ahead(translator: Translator) -> None:
    numbers = itertools.count()
    endless = (f"I have {number} cats." for number in numbers)
    translations = translator.translate_iterable(endless, source="en", target="de")
    first = [*itertools.islice(translations, 3)]
    assert first == translator.translate(CATS[:3], source="en", target="de")
    assert next(numbers) < 1000


def test_an_error_of_the_source_comes_after_the_texts_before_it(translator: Translator) -> None:
    texts = itertools.chain(CATS[:2], (int("x") for _ in range(1)))
    translations = translator.translate_iterable(texts, source="en", target="de")
    assert len([*itertools.islice(translations, 2)]) == 2
    with pytest.raises(ValueError, match="invalid literal"):
        next(translations)


@pytest.mark.parametrize(
    ("wishes", "error", "message"),
    [
        ({"target": "xx"}, UnsupportedLanguage, "target language 'xx' is not supported"),
        ({"beam_size": 0}, InvalidField, "beam_size must be a whole number from 1 to 64, got 0"),
        ({"beam_size": 2, "seed": 1}, InvalidField, "beam_size must be 1 or left out"),
        ({"format": "pdf"}, InvalidField, 'format must be "text"'),
        ({"glossary": {"": "x"}}, InvalidField, "source of term 1 must have 1 to 200 characters"),
        ({"glossary": ["ab"]}, TypeError, "glossary must be a dict of strings, or a list"),
        ({"glossary": [{"term": "x"}]}, TypeError, "glossary must be a dict of strings, or a list"),
        ({"glossary": [("x",)]}, TypeError, "glossary must be a dict of strings, or a list"),
        ({"beam": 3}, TypeError, "there is no option beam; the options are beam_size, "),
        ({"text": 3}, TypeError, "text must be a string or a list of strings, not int"),
        ({"text": b"x"}, TypeError, "text must be a string or a list of strings, not bytes"),
        ({"text": {"a": "x"}}, TypeError, "text must be a string or a list of strings, not dict"),
        ({"text": ["x", None]}, TypeError, "a text must be a string, not NoneType"),
        ({"text": "\ud83d"}, InvalidField, "a text must be valid Unicode"),
    ],
)
def test_what_is_wrong_is_told_by_every_method(
    translator: Translator, wishes: dict[str, Any], error: type[Exception], message: str
) -> None:
    fields = {"text": "Good morning.", "source": "en", "target": "de", **wishes}
    methods: list[Callable[..., Any]] = [translator.translate, translator.translate_detailed]
    if isinstance(fields["text"], str):
        methods.append(lambda **given: list(translator.stream(**given)))
    for method in methods:
        with pytest.raises(error, match=re.escape(message)):
            method(**fields)


@pytest.mark.parametrize(
    "glossary",
    [
        {"library": "Bücherei"},
        [GlossaryEntry("library", "Bücherei")],
        [("library", "Bücherei")],
        [{"source": "library", "target": "Bücherei", "case_sensitive": True}],
    ],
)
def test_a_glossary_has_the_forms_of_python_and_of_a_request(
    translator: Translator, glossary: Any
) -> None:
    asked = {"source": "en", "target": "de", "glossary": glossary}
    assert "Bücherei" in translator.translate("Is the library open?", **asked)


def test_a_fork_that_leaves_the_block_ends_and_the_parent_goes_on(tmp_path: Path) -> None:
    assert run(FORK, tmp_path).stdout.splitlines() == ["7", "Guten Morgen."]


def test_what_python_frees_at_its_end_waits_for_nothing(tmp_path: Path) -> None:
    told = "a translator runs only in the process that opened it, until that ends"
    assert run(ENDS, tmp_path).stdout.splitlines() == ["Guten Morgen.", told]


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_what_cannot_leave_its_process_says_so(
    translator: Translator, copied: Callable[[object], object]
) -> None:
    for one in (translator, translator.translate):
        with pytest.raises(TypeError, match="cannot be pickled or copied: a translator runs only"):
            copied(one)


@pytest.mark.parametrize("max_slots", [-1, 65537, "3", 1.5])
def test_a_number_of_slots_that_cannot_be_is_named(max_slots: Any) -> None:
    with pytest.raises(ValueError, match="max_slots must be a whole number from 0 to 65536, got"):
        Translator("en-de", max_slots=max_slots)


def test_neither_a_text_is_taken_for_its_letters_nor_a_dict_for_its_keys(
    translator: Translator,
) -> None:
    with pytest.raises(TypeError, match="several strings, not one"):
        next(translator.translate_iterable("Good morning.", source="en", target="de"))
    with pytest.raises(TypeError, match="several strings, not dict"):
        next(translator.translate_iterable({"a": "Good morning."}, source="en", target="de"))


def test_a_model_that_cannot_be_loaded_is_a_value_error(tmp_path: Path) -> None:
    for models in ("nowhere", tmp_path, ["zh-en", "zh-en"], []):
        with pytest.raises(
            ValueError, match=r"no model 'nowhere'|config\.json|name of its own|at least one"
        ):
            Translator(models)


def test_a_cancelled_task_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with AsyncTranslator("en-de", device="cpu", max_slots=4) as translator:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0):
                    await translator.translate(CATS, source="en", target="de")
            async for _ in translator.stream("Good morning. " * 20, target="de"):
                break
            assert await translator.translate(CATS[:3], target="de") == [
                one async for one in translator.translate_iterable(CATS[:3], target="de")
            ]
            running = asyncio.create_task(translator.translate(CATS * 20, target="de"))
            await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="the translator is closed"):
            await running
        with pytest.raises(RuntimeError, match="the translator is closed"):
            await translator.translate("Good morning.", target="de")

    asyncio.run(main())


def test_whoever_waits_is_told_that_the_translator_is_closed() -> None:
    with Translator("en-de", device="cpu", max_slots=4) as translator:
        all_cats = translator.translate_iterable(itertools.cycle(CATS), source="en", target="de")
        pieces = translator.stream("Good morning. " * 2000, source="en", target="de")
        next(all_cats)
        next(pieces)
    for rest in (all_cats, pieces):
        with pytest.raises(RuntimeError, match="the translator is closed"):
            for _ in rest:
                pass


def test_a_translator_that_nobody_has_any_more_ends_its_threads() -> None:
    before = {*threading.enumerate()}
    translator = Translator("en-de", device="cpu", max_slots=4)
    started = {*threading.enumerate()} - before
    assert len(started) > 1
    del translator
    gc.collect()
    for thread in started:
        thread.join(60)
        assert not thread.is_alive(), thread
