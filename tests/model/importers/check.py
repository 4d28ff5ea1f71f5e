"""Import models of the real sizes, and compare with transformers: `make importers-check`.

Random weights in the original layout; each figure is measured in a process of its own. Needs about
8 GiB of memory and of disk, and some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.model.importers.originals import (
    Corpus,
    make_corpus,
    write_marian_tokenizer,
    write_nllb_tokenizer,
)

TINY_PAIRS = Path(__file__).parents[2] / "data" / "tiny.zh-en.tsv"
SENTENCE = "The hospital has three birds."
MAX_TOKENS = 16
OPUS_MT = {"layers": 6, "d_model": 512, "heads": 8, "d_ff": 2048, "vocab_size": 58_101}
NLLB_600M = {"layers": 12, "d_model": 1024, "heads": 16, "d_ff": 4096, "vocab_size": 256_206}


def write_opus_mt(directory: Path, corpus: Corpus) -> None:
    from transformers import MarianConfig, MarianMTModel

    pad = write_marian_tokenizer(directory, corpus, (), OPUS_MT["vocab_size"])
    config = MarianConfig(
        **options(OPUS_MT),
        activation_function="swish",
        pad_token_id=pad,
        decoder_start_token_id=pad,
    )
    MarianMTModel(config).save_pretrained(directory)


def write_nllb_600m(directory: Path, corpus: Corpus) -> None:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    write_nllb_tokenizer(directory, corpus)
    config = M2M100Config(
        **options(NLLB_600M), activation_function="relu", decoder_start_token_id=2
    )
    M2M100ForConditionalGeneration(config).save_pretrained(directory)


def options(sizes: dict[str, int]) -> dict[str, Any]:
    return {
        "d_model": sizes["d_model"],
        "vocab_size": sizes["vocab_size"],
        "scale_embedding": True,
        "max_position_embeddings": 1024,
        **{f"{side}_layers": sizes["layers"] for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": sizes["heads"] for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": sizes["d_ff"] for side in ("encoder", "decoder")},
    }


def convert(source: Path) -> None:
    from model.importers.imported import Wanted
    from model.importers.resolve import import_source

    import_source(str(source), source.with_suffix(".ours"), None, Wanted())


def translate_ours(source: Path) -> object:
    """What it returns is in memory while that is measured: as in the server, only the runner."""
    from model.checkpoint import open_checkpoint
    from model.decoding.options import DecodingOptions
    from model.decoding.sentence import SourceSentence
    from model.offline import translate_all
    from model.runner import Runner

    stored = open_checkpoint(source.with_suffix(".ours"))
    tokenizer = stored.tokenizer
    runner = Runner(
        stored.model,
        tokenizer.control_ids(),
        max_slots=1,
        max_rows=1,
        max_source_tokens=128,
        max_target_tokens=128,
    )
    ids = tokenizer.encode_source(SENTENCE, "zh", "en")
    decoding = DecodingOptions(beam_size=1, max_length=MAX_TOKENS)
    start = tokenizer.target_start("zh")
    translate_all(runner, [SourceSentence(ids, decoding, prefix=start)])
    return runner


def translate_theirs(source: Path) -> object:
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(source).eval()
    ids = _tokenizer(source)(SENTENCE, return_tensors="pt").input_ids
    model.generate(input_ids=ids, num_beams=1, max_length=None, max_new_tokens=MAX_TOKENS)
    return model, ids


def _tokenizer(source: Path) -> Any:
    from transformers import MarianTokenizer, NllbTokenizer

    kind: Any = MarianTokenizer if (source / "source.spm").exists() else NllbTokenizer
    return kind.from_pretrained(source)


MEASURED: dict[str, Callable[[Path], object]] = {
    "import": convert,
    "first translation": translate_ours,
    "first translation, transformers": translate_theirs,
}


def measure(what: str, source: Path) -> tuple[float, int, int]:
    """Seconds, imports of modules included, and the process's memory: MiB at the end, at most."""
    command = [sys.executable, "-W", "ignore", "-m", __spec__.name, what, str(source)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, resident, peak = json.loads(output.splitlines()[-1])
    return seconds, resident, peak


def measured_here(what: str, source: Path) -> None:
    """In the process of its own: do it, and print what it took as JSON."""
    started = time.monotonic()
    held = MEASURED[what](source)
    seconds = time.monotonic() - started
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    memory = [int(status[key].split()[0]) // 1024 for key in ("VmRSS", "VmHWM")]
    print(json.dumps([seconds, *memory]))
    del held


def main() -> None:
    print(f"{'model':<10} {'what':<34} {'seconds':>8} {'MiB':>7} {'at most':>8}")
    with tempfile.TemporaryDirectory() as root:
        corpus = make_corpus(Path(root), TINY_PAIRS)
        for name, write in (("opus-mt", write_opus_mt), ("nllb-600M", write_nllb_600m)):
            write(Path(root) / name, corpus)
            for what in MEASURED:
                seconds, resident, peak = measure(what, Path(root) / name)
                print(f"{name:<10} {what:<34} {seconds:>8.1f} {resident:>7} {peak:>8}", flush=True)
            command = [sys.executable, "-W", "ignore", "-m", "tests.model.importers.agreement"]
            subprocess.run([*command, str(Path(root) / name)], check=True)


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else measured_here(sys.argv[1], Path(sys.argv[2]))
