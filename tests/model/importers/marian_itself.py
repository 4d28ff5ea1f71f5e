"""Models that Marian trains here compute and translate for us as for Marian. Run by
`make marian-test`, which installs pymarian (600 MB, x86-64).

`python -m tests.model.importers.marian_itself` makes the files in tests/data/marian.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import sentencepiece
import torch

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.importers.imported import Wanted
from model.importers.resolve import import_source
from model.offline import translate_all
from model.runner import Runner
from tests.conftest import TINY_PAIRS
from tests.model.importers.originals import write_json

DATA = Path(__file__).parents[2] / "data" / "marian"
SIZES = "--dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1"
SSRU = "--transformer-decoder-autoreg rnn --dec-cell ssru --transformer-ffn-activation relu"
MODELS = {
    "transformer": "--tied-embeddings-all --dec-depth 1",
    "ssru": f"--tied-embeddings --dec-depth 1 {SSRU}",
    "untied": "--dec-depth 2",
    "shared ssru": f"--tied-embeddings-all --dec-depth 2 {SSRU} --transformer-postprocess-emb dn",
}
TRAINING = (
    "--type transformer --after 250u --learn-rate 0.01 --mini-batch 50 --maxi-batch 1 --seed 1 "
    "--transformer-dropout 0 --save-freq 250u --overwrite"
)
COMMON = ("--workspace", "200", "--cpu-threads", "1", "--quiet")
NUM_SENTENCES = 200
MOST_CHARACTERS = 80
"""Longer translations repeat themselves, which only our search cuts short."""


def marian(*arguments: object) -> str:
    """The output of one of Marian's commands."""
    command = ["pymarian", *map(str, arguments), *COMMON]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def train(directory: Path, options: str) -> Path:
    """A small model, Chinese to English, and its vocabularies."""
    directory.mkdir(parents=True)
    lines = TINY_PAIRS.read_text(encoding="utf-8").splitlines()
    texts = {side: [line.split("\t")[i] for line in lines] for i, side in enumerate(("src", "trg"))}
    for side, some in texts.items():
        (directory / f"{side}.txt").write_text("\n".join(some) + "\n", encoding="utf-8")
    is_joint = "tied-embeddings-all" in options or "tied-embeddings-src" in options
    for side, some in {"": texts["src"] + texts["trg"]}.items() if is_joint else texts.items():
        _train_sentencepiece(directory / f"{side}vocab.spm", some)
    files = ["--train-sets", directory / "src.txt", directory / "trg.txt"]
    files += ["--vocabs", *vocabularies(directory), "--model", directory / "model.npz"]
    marian(*files, *f"{TRAINING} {SIZES} {options}".split())
    return directory


def _train_sentencepiece(path: Path, texts: Sequence[str]) -> None:
    """As Marian trains one, but for its table of normalisation, which is large."""
    corpus = path.with_suffix(".txt")
    corpus.write_text("\n".join(texts), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(path.with_suffix("")),
        vocab_size=240,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        num_threads=1,
        minloglevel=2,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
    )
    path.with_suffix(".model").rename(path)
    path.with_suffix(".vocab").unlink()
    corpus.unlink()


def convert(model: Path, binary: Path, kind: str) -> None:
    command = ["pymarian", "convert", "--from", model, "--to", binary, "--gemm-type", kind]
    subprocess.run(command, check=True, capture_output=True)


def vocabularies(directory: Path) -> list[Path]:
    found = sorted(directory.glob("*vocab.spm"))
    return found * (3 - len(found))


def scores(directory: Path, model: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Marian's log-probability of each translation."""
    files = [directory / "scored.src", directory / "scored.trg"]
    for side, file in enumerate(files):
        file.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    given = ["--model", directory / model, "--vocabs", *vocabularies(directory)]
    output = marian("score", *given, "--train-sets", *files)
    return [float(line) for line in output.splitlines()]


def translations(
    directory: Path,
    model: str,
    texts: Sequence[str],
    beam_size: int,
    shortlist: Sequence[object] = (),
) -> list[str]:
    """Marian's translations. `shortlist`: a text and its limits, or a binary and whether Marian is
    to check it."""
    file = directory / "translated.src"
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    given = ["--models", directory / model, "--vocabs", *vocabularies(directory), "--input", file]
    rules = ["--beam-size", beam_size, "--normalize", 1, "--max-length-factor", 9]
    if shortlist:  # Marian's is for all sentences that it translates together
        rules += ["--shortlist", *shortlist, "--mini-batch", 1]
    output = marian("decode", *given, *rules)
    return output.splitlines()


def write_shortlist(directory: Path, first: int, best: int) -> tuple[Path, Path]:
    """A text, whose probabilities are those of pieces in pairs, and Marian's binary of it."""
    processors = [
        sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        for vocabulary in vocabularies(directory)
    ]
    counts, num_sources = Counter[tuple[str, str]](), Counter[str]()
    for line in TINY_PAIRS.read_text(encoding="utf-8").splitlines():
        pieces = zip(processors, line.split("\t"), strict=True)
        source, target = (set(own.encode(text, out_type=str)) for own, text in pieces)
        counts.update(itertools.product(source, target))
        num_sources.update(source)
    text, binary = (directory / f"lex.{first}.{best}.{end}" for end in ("s2t", "s2t.bin"))
    lines = [f"{to} {of} {n / num_sources[of]:.6f}\n" for (of, to), n in counts.items()]
    text.write_text("".join(lines), encoding="utf-8")
    command = ["pymarian", "convert", "--shortlist", text, first, best, 0, "--dump-shortlist"]
    given = [*command, binary, "--vocabs", *vocabularies(directory)]
    subprocess.run(list(map(str, given)), check=True, capture_output=True)
    return text, binary


def some_pairs() -> list[tuple[str, str]]:
    lines = TINY_PAIRS.read_text(encoding="utf-8").splitlines()[:NUM_SENTENCES]
    source, target = zip(*(line.split("\t") for line in lines), strict=True)
    return list(zip(source, target[7:] + target[:7], strict=True))  # so that no score is near 0


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("marian") / "model"
    return train(directory, MODELS[request.param])


@pytest.fixture(scope="module")
def imported(trained: Path) -> Checkpoint:
    return import_model(trained, trained.parent / "ours")


def import_model(directory: Path, ours: Path) -> Checkpoint:
    import_source(str(directory), ours, None, Wanted(("zh",), ("en",)))
    return load_checkpoint(ours)


@torch.inference_mode()
def our_scores(ours: Checkpoint, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Of all pieces but the start, as Marian has it."""
    found, config = [], ours.info.architecture
    for source, target in pairs:
        ids = [*ours.tokenizer.encode_target_batch([target])[0], config.eos_id]
        src = torch.tensor([ours.tokenizer.encode_source(source, "en", "zh")])
        logits = ours.model(src, torch.tensor([[config.bos_id, *ids[:-1]]]))[0, :, : config.bos_id]
        found.append(float(logits.log_softmax(-1)[range(len(ids)), ids].sum()))
    return found


def test_every_sentence_has_the_probability_that_marian_gives_it(
    trained: Path, imported: Checkpoint
) -> None:
    pairs = some_pairs()
    expected = scores(trained, "model.npz", pairs)
    # Marian's layer norm adds 1e-6 to a variance, ours 1e-5.
    assert our_scores(imported, pairs) == pytest.approx(expected, rel=1e-3)


def test_the_bin_of_marian_is_the_same_model_and_its_int8_nearly_so(
    trained: Path, imported: Checkpoint, tmp_path: Path
) -> None:
    pairs = some_pairs()[:50]
    for kind, tolerance in (("float32", 0.0), ("intgemm8", 0.02)):
        if kind == "intgemm8" and "output.weight" in imported.model.weights:
            continue  # Marian's int8 needs a vocabulary of a multiple of 8 pieces then
        directory = tmp_path / kind
        shutil.copytree(trained, directory, ignore=shutil.ignore_patterns("model*"))
        convert(trained / "model.npz", directory / "model.bin", kind)
        ours = import_model(directory, tmp_path / f"ours {kind}")
        for name, weight in ours.model.weights.items():
            expected = imported.model.weights[name]
            assert (weight - expected).abs().max() <= tolerance * expected.abs().max()
        expected_scores = our_scores(imported, pairs)
        assert our_scores(ours, pairs) == pytest.approx(
            expected_scores, rel=0.05, abs=25 * tolerance
        )


@torch.inference_mode()
def search_as_marian(ours: Checkpoint, text: str, beam_size: int) -> str:
    """Marian's rules: a beam is narrower by each hypothesis that has ended, and the probability of
    what may not come next is nobody's."""
    config = ours.info.architecture
    src = torch.tensor([ours.tokenizer.encode_source(text, "en", "zh")])
    memory, silent = ours.model.encode(src), ours.tokenizer.control_ids()
    live, ended, mask = [(0.0, [config.bos_id])], list[tuple[float, list[int]]](), src == src
    while live and len(live[0][1]) <= 9 * src.size(1):
        tgt = torch.tensor([ids for _, ids in live])
        states = ours.model.decode(tgt, memory.expand(len(live), -1, -1), mask[:, None, None])
        log_probs = ours.model.output(states[:, -1])[:, : config.bos_id].log_softmax(-1)
        log_probs[:, [token for token in silent if token < config.bos_id]] = float("-inf")
        totals = (torch.tensor([score for score, _ in live])[:, None] + log_probs).flatten()
        best, places = totals.topk(beam_size - len(ended))
        chosen = zip(best.tolist(), places.tolist(), strict=True)
        split = [(score, divmod(place, log_probs.size(1))) for score, place in chosen]
        live = [(score, [*live[row][1], token]) for score, (row, token) in split]
        ended += [one for one in live if one[1][-1] == config.eos_id]
        live = [one for one in live if one[1][-1] != config.eos_id]
    _, ids = max(ended, key=lambda one: one[0] / (len(one[1]) - 1), default=(0.0, [0, 0]))
    return ours.tokenizer.decode(ids[1:-1])


@pytest.mark.parametrize("beam_size", [1, 4])
def test_sentences_translate_as_by_marian_with_its_rules_and_seldom_otherwise_with_ours(
    trained: Path, imported: Checkpoint, beam_size: int
) -> None:
    texts = [source for source, _ in some_pairs()]
    expected = translations(trained, "model.npz", texts, beam_size)
    usual = [i for i, text in enumerate(expected) if len(text) < MOST_CHARACTERS]
    with_its_rules = {i: search_as_marian(imported, texts[i], beam_size) for i in usual}
    with_ours = our_translations(imported, texts, beam_size)
    assert len(usual) > NUM_SENTENCES // 2
    assert sum(with_its_rules[i] != expected[i] for i in usual) <= 1, "but for ties"
    allowed = NUM_SENTENCES // 100 if beam_size == 1 else NUM_SENTENCES // 5
    assert sum(with_ours[i] != expected[i] for i in usual) <= allowed


def our_translations(ours: Checkpoint, texts: Sequence[str], beam_size: int) -> list[str]:
    """By the native backend in float32."""
    runner = Runner(
        ours.model,
        ours.tokenizer.control_ids(),
        max_slots=16,
        max_rows=64,
        max_source_tokens=128,
        max_target_tokens=256,
    )
    options = DecodingOptions(beam_size=beam_size, lookahead=None, length_ratio=9.0)
    sentences = [
        SourceSentence(ours.tokenizer.encode_source(text, "en", "zh"), options) for text in texts
    ]
    found = translate_all(runner, sentences)
    return [ours.tokenizer.decode(one.hypotheses[0].ids) for one in found]


@pytest.mark.parametrize(("first", "best"), [(50, 50), (3, 4)])
def test_a_shortlist_gives_the_translations_that_marian_finds_with_it(
    trained: Path, tmp_path: Path, first: int, best: int
) -> None:
    texts = [source for source, _ in some_pairs()]
    files = write_shortlist(shutil.copytree(trained, tmp_path / "marian"), first, best)
    # Marian's own check of a binary refuses one whose last piece has an empty list.
    for file, limits in zip(files, ([first, best], [0]), strict=True):
        directory = shutil.copytree(trained, tmp_path / file.suffix)
        shutil.copyfile(file, directory / file.name)
        ours = import_model(directory, tmp_path / f"ours{file.suffix}")
        expected = translations(trained, "model.npz", texts, 1, [file, *limits])
        found = our_translations(ours, texts, 1)
        pairs = list(zip(expected, found, strict=True))
        assert sum(theirs == own for theirs, own in pairs) > NUM_SENTENCES // 2
        others = sum(not (a.startswith(b) or b.startswith(a)) for a, b in pairs)
        assert others <= NUM_SENTENCES // 100, "but for those that one of both cuts short"


def write_data() -> None:
    """The models of tests/data/marian, with what Marian makes of some sentences."""
    shutil.rmtree(DATA, ignore_errors=True)
    pairs = some_pairs()[::20]
    for name, kind in (("ssru", ""), ("transformer", "intgemm8")):
        with tempfile.TemporaryDirectory() as scratch:
            trained = train(Path(scratch) / "model", MODELS[name])
            texts = [source for source, _ in pairs]
            expected = {
                "pairs": pairs,
                "scores": scores(trained, "model.npz", pairs),
                "translations": translations(trained, "model.npz", texts, 1),
            }
            kept = DATA / name
            kept.mkdir(parents=True)
            for file in trained.glob("*vocab.spm"):
                shutil.copyfile(file, kept / file.name)
            if kind:
                convert(trained / "model.npz", kept / "model.bin", kind)
            else:
                shutil.copyfile(trained / "model.npz", kept / "model.npz")
            write_json(kept / "expected.json", expected)
    write_shortlist_data(pairs)


def write_shortlist_data(pairs: Sequence[tuple[str, str]]) -> None:
    """A shortlist for the student, and what Marian translates with it."""
    kept = DATA / "shortlist"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        student = shutil.copytree(DATA / "ssru", Path(scratch) / "model")
        _, binary = write_shortlist(student, first=16, best=12)
        shutil.copyfile(binary, kept / binary.name)
        texts = [source for source, _ in pairs]
        found = translations(student, "model.npz", texts, 1, [binary, 0])
        write_json(kept / "expected.json", found)


if __name__ == "__main__":
    write_data()
