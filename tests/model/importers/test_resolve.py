"""What `--model` names is served as it is, or imported once into the cache."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from model.checkpoint import read_info
from model.importers.imported import SourceError
from model.importers.resolve import resolve_checkpoint
from service.app import create_app
from service.models.loading import load_models
from service.offline import OfflineOptions, OfflineTranslator
from service.settings import Settings
from service.settings.startup import StartupError
from service.translation.job import TranslationJob
from tests.model.importers.originals import Original

TEXT = "The hospital has three birds."
BUNDLED = Path(__file__).parents[3] / "checkpoints" / "zh-en"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dragoman"


@pytest.fixture
def foreign(tmp_path: Path, random_originals: dict[str, Original]) -> Path:
    return Path(shutil.copytree(random_originals["nllb"].directory, tmp_path / "nllb"))


def test_a_foreign_model_is_imported_once_and_again_when_it_changes(
    foreign: Path, cache: Path
) -> None:
    first = resolve_checkpoint(foreign)
    assert first.parent == cache
    made = first.stat().st_ino
    assert resolve_checkpoint(foreign) == first
    assert first.stat().st_ino == made
    os.utime(foreign / "config.json", (1, 1))
    assert resolve_checkpoint(foreign) != first
    assert read_info(first).name == "nllb"


@pytest.mark.parametrize("name", ["en-dee", "/nowhere/en-de", "a/b/c"])
def test_a_model_that_is_nowhere_is_refused_with_what_would_be_one(name: str) -> None:
    with pytest.raises(SourceError, match=f"no model '{name}'.*zh-en, en-de.*owner/model"):
        resolve_checkpoint(Path(name))


def test_a_foreign_model_that_cannot_be_imported_leaves_no_cache(
    foreign: Path, cache: Path
) -> None:
    (foreign / "model.safetensors").unlink()
    with pytest.raises(StartupError, match="holds no weights"):
        load_models(Settings(model=(foreign,), device="cpu"))
    assert not cache.exists()


@torch.inference_mode()
def test_it_translates_from_the_command_line_under_any_name_of_its_languages(
    foreign: Path,
) -> None:
    options = OfflineOptions("cpu", "float32", max_slots=4, beam_size=1)
    with OfflineTranslator([foreign], options) as translator:
        texts = {
            translator.translate_all([TEXT], source, target)[0]
            for source, target in [("en", "zh"), ("eng_Latn", "zh_CN"), ("en-GB", "zho_Hans")]
        }
        assert len(texts) == 1
        assert "zho" not in texts.pop()
        assert translator.translate_all(["Hello."], "en", "en") == ["Hello."]
        with pytest.raises(ValueError, match="language 'de' is not supported; supported: ace-Ara"):
            translator.translate_all(["Hello."], "en", "de")


@pytest.mark.parametrize("prefix", ["", "他"])
def test_the_server_translates_and_streams_without_showing_tags(foreign: Path, prefix: str) -> None:
    """The tag that the translation is forced to begin with is no text, whole or streamed."""
    settings = Settings(model=(foreign,), device="cpu", precision="float32")
    with OfflineTranslator([foreign], OfflineOptions("cpu", "float32", max_slots=1)) as translator:
        job = TranslationJob([TEXT], "en", "zh", prefixes=[prefix])
        submitted = translator.submit(lambda dispatcher: dispatcher.translate(job))
        expected = submitted.result()[0].text
    body = {"q": TEXT, "source": "auto", "target": "zho_Hans", "target_prefix": prefix}
    with TestClient(create_app(settings, load_models(settings))) as client:
        whole = client.post("/translate", json={**body, "details": True}).json()
        streamed = client.post("/translate", json=body, headers={"Accept": "text/event-stream"})
        languages = client.get("/languages").json()
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line[:5] == "data:"]
    assert expected.startswith(prefix)
    assert "zho" not in expected
    assert whole["translatedText"] == expected
    assert "".join(event.get("text", "") for event in events) == expected
    assert events[-1]["translatedText"] == expected
    assert whole["details"][0]["sentences"][0]["tokens"][0] == "zho_Hans"
    assert [language["code"] for language in languages][:4] == ["ace-Arab", "ace", "ar", "en"]
