from __future__ import annotations

import random
import tracemalloc

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.sentence_task import SentenceKey
from service.engine.sharing import SentenceCache, entry_bytes, key_of


def numbered(number: int, length: int = 3, **options: int) -> SentenceKey:
    ids = [1000 + number * 100 + i for i in range(length)]
    return key_of(SourceSentence(ids, DecodingOptions.from_dict({**options})))


def hypotheses(length: int, count: int = 1) -> list[Hypothesis]:
    rng = random.Random(length)
    return [
        Hypothesis(
            [rng.randint(300, 8000) for _ in range(length)],
            [rng.random() for _ in range(length + 1)],
            rng.random(),
            "stop",
        )
        for _ in range(count)
    ]


def test_what_was_put_is_found_under_its_ids_prefix_and_options() -> None:
    cache, found = SentenceCache(10**6), hypotheses(3)
    cache.put(numbered(1), found)
    assert cache.get(numbered(1)) is found
    assert cache.get(numbered(2)) is None
    assert cache.get(numbered(1, beam_size=5)) is None
    assert cache.get(numbered(1, n_best=2)) is None
    assert cache.get(numbered(1)._replace(prefix=(7,))) is None
    assert cache.get(numbered(1)._replace(is_aligned=True)) is None


def test_samples_of_other_seeds_are_other_sentences() -> None:
    keys = [
        key_of(SourceSentence([5], DecodingOptions(sampling=True, beam_size=1, seed=seed)))
        for seed in (0, 1)
    ]
    cache = SentenceCache(10**6)
    cache.put(keys[0], hypotheses(2))
    assert cache.get(keys[1]) is None


def test_a_streamed_sentence_has_the_key_of_one_that_is_not() -> None:
    options = DecodingOptions()
    assert key_of(SourceSentence([5], options, is_streamed=True)) == key_of(
        SourceSentence((5,), options)
    )


def test_the_least_recently_used_go_first_and_the_bound_holds() -> None:
    size = entry_bytes(numbered(0), hypotheses(3))
    cache = SentenceCache(3 * size)
    for number in range(3):
        cache.put(numbered(number), hypotheses(3))
    assert cache.get(numbered(0)) is not None
    cache.put(numbered(3), hypotheses(3))
    assert [cache.get(numbered(n)) is not None for n in range(4)] == [True, False, True, True]
    assert cache.num_bytes == 3 * size


def test_what_exceeds_the_bound_alone_is_not_kept_and_drives_nothing_out() -> None:
    cache = SentenceCache(entry_bytes(numbered(0), hypotheses(3)))
    cache.put(numbered(0), hypotheses(3))
    cache.put(numbered(1), hypotheses(400))
    assert (len(cache), cache.get(numbered(1))) == (1, None)


def test_putting_twice_counts_once() -> None:
    cache = SentenceCache(10**6)
    for _ in range(2):
        cache.put(numbered(0), hypotheses(3))
    assert cache.num_bytes == entry_bytes(numbered(0), hypotheses(3))


def test_real_memory_stays_below_the_bound() -> None:
    """Over short and long sentences with few and many alternatives."""
    rng, cache = random.Random(0), SentenceCache(2_000_000)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(3000):
        found = hypotheses(rng.choice((2, 20, 100)), rng.choice((1, 1, 4)))
        cache.put(numbered(number, rng.choice((3, 28))), found)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cache.num_bytes > 1_900_000
    assert 0.4 * cache.num_bytes < after - before < 1.05 * cache.num_bytes
