"""Weblate's machinery and wagtail-localize's translators, pointed at this server.

Run by `make clients-test`. Each is installed from PyPI into an environment of its own.
"""

from __future__ import annotations

import pytest

from tests.clients.environments import answers_of, environment
from tests.service.served import Served

WEBLATE, WAGTAIL = "weblate==5.14.3", "wagtail-localize==1.14.5"
UNBUILT = frozenset({"borgbackup", "pycairo", "pygobject", "tesserocr"})
"""Weblate's backups, drawing and reading of pictures: they need libraries of the system."""


@pytest.mark.timeout(600)
def test_weblates_machinery(server: Served) -> None:
    answers = answers_of(environment(WEBLATE, UNBUILT), "weblate_machinery.py", server.url)
    capitals = ["HELLO, %s!"]
    expected = {"de": capitals, "zh_Hans": capitals, "zh_CN": capitals, "de_AT": capitals, "xx": []}
    for name in ("LibreTranslate", "DeepL"):
        assert answers[name]["texts"] == expected, name
        assert answers[name]["batch"] == [capitals, ["%d <b>FILES</b>"]], name
    assert answers["LibreTranslate"]["languages"] == ["de", "en", "es", "zh"]


@pytest.mark.timeout(600)
def test_wagtail_localizes_translators(server: Served) -> None:
    answers = answers_of(environment(WAGTAIL), "wagtail_translators.py", server.url)
    translated = ["HI <b>YOU</b>.", 'BYE <a id="a1">NOW</a> &amp; THEN.']
    assert answers == {"LibreTranslate": translated, "DeepL": translated}
