"""A client that was generated from the server's OpenAPI document, against the server at a URL.

Run by the Python of an environment with its requirements: python generated_client.py URL DIRECTORY
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    url, directory = sys.argv[1:]
    sys.path.insert(0, directory)
    models: Any = importlib.import_module("dragoman_client.models")
    client = importlib.import_module("dragoman_client").Client(base_url=url)

    def ask(name: str, body: str, **fields: Any) -> Any:
        module: Any = importlib.import_module(f"dragoman_client.api.translation.{name}")
        sent = getattr(models, body).from_dict({"source": "en", "target": "de", **fields})
        return module.sync(client=client, body=sent)

    translate, next_words = "translate", "translate_next"
    body, next_body = "TranslateRequest", "NextWordsRequest"
    names = {name: next(m for m in dir(models) if m.endswith(name)) for name in (body, next_body)}
    refused = importlib.import_module(f"dragoman_client.api.translation.{translate}")
    answer = ask(
        translate, names[body], q="Dies", source="de", target="en", details=True, beam_size=2
    )
    wrong = {"json": {"q": "Hi.", "source": "en", "target": "xx"}, "url": "/translate"}
    response = client.get_httpx_client().request("post", **wrong)
    parsed = refused._parse_response(client=client, response=response)
    answers = {
        "texts": ask(translate, names[body], q=["Hi.", "Bye."]).translated_text,
        "target": answer.details[0].sentences[0].target,
        "sentence": ask(next_words, names[next_body], q="One. Two.", prefix="One. T").sentence,
        "refusal": parsed.error,
    }
    sys.stdout.write(json.dumps(answers))


main()
