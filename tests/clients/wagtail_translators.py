"""wagtail-localize's translators for LibreTranslate and DeepL against the server at a URL.

Run by the Python of an environment with it: python wagtail_translators.py URL
"""

from __future__ import annotations

import json
import sys
from typing import Any

_APPS = (
    *("django.contrib.contenttypes", "django.contrib.auth", "taggit", "wagtail.users"),
    *("wagtail.admin", "wagtail.images", "wagtail.documents", "wagtail", "wagtail_localize"),
)
_STRINGS = ("Hi <b>you</b>.", 'Bye <a id="a1">now</a> &amp; then.')


def _set_up() -> None:
    import django
    from django.conf import settings

    memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    languages = [("en", "English"), ("de", "German")]
    settings.configure(
        SECRET_KEY="key",
        INSTALLED_APPS=_APPS,
        DATABASES={"default": memory},
        STATIC_URL="/static/",
        WAGTAIL_SITE_NAME="site",
        WAGTAILADMIN_BASE_URL="http://localhost",
        WAGTAIL_I18N_ENABLED=True,
        LANGUAGES=languages,
        WAGTAIL_CONTENT_LANGUAGES=languages,
        USE_TZ=True,
    )
    django.setup()


def _translated(translator: Any) -> list[str]:
    from wagtail.models import Locale
    from wagtail_localize.strings import StringValue

    source, target = Locale(language_code="en-gb"), Locale(language_code="de")
    assert translator.can_translate(source, target)
    strings = [StringValue(text) for text in _STRINGS]
    found = translator.translate(source, target, strings)
    return [found[string].data for string in strings]


def main() -> None:
    _set_up()
    from wagtail_localize.machine_translators.deepl import DeepLTranslator
    from wagtail_localize.machine_translators.libretranslate import LibreTranslator

    url = sys.argv[1]

    class OurDeepL(DeepLTranslator):  # type: ignore[misc]
        """Its address is no option: a site overrides the method."""

        def get_api_endpoint(self) -> str:
            return f"{url}/v2/translate"

    libre = LibreTranslator({"LIBRETRANSLATE_URL": url, "API_KEY": "key"})
    deepl = OurDeepL({"AUTH_KEY": "key", "FORMALITY": "prefer_less"})
    answers = {"LibreTranslate": _translated(libre), "DeepL": _translated(deepl)}
    sys.stdout.write(json.dumps(answers))


main()
