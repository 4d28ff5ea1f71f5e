"""The service that a user would otherwise write: FastAPI around CTranslate2, a batch a request.

Run by benchmarks.service, which sets the variables.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece
from fastapi import FastAPI
from pydantic import BaseModel


class Wanted(BaseModel):
    q: str
    source: str
    target: str
    beam_size: int = 4


def create_app() -> FastAPI:
    root = Path(os.environ["PEER_MODEL"])
    translator = ctranslate2.Translator(
        str(root / "ctranslate2"),
        compute_type="int8",
        inter_threads=int(os.environ["PEER_TRANSLATORS"]),
        intra_threads=int(os.environ["PEER_THREADS"]),
    )
    processor: Any = sentencepiece.SentencePieceProcessor(
        model_file=str(root / "transformers" / "source.spm")
    )
    app = FastAPI()

    @app.get("/ready")
    def ready() -> str:
        return "ok"

    @app.post("/translate")
    def translate(wanted: Wanted) -> dict[str, str]:
        pieces = [f">>{wanted.target}<<", *processor.encode(wanted.q, out_type=str), "</s>"]
        result = translator.translate_batch([pieces], beam_size=wanted.beam_size)
        return {"translatedText": processor.decode(result[0].hypotheses[0])}

    return app
