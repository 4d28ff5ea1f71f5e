"""Files that wait for their download: found by name only, dropped in time, bounded together."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from service.commons.file_store import FileStore, StoredFile

NUM_CLIENTS = 4


async def add(
    store: FileStore, content: bytes, num_characters: int, client: str = "address/1"
) -> tuple[str, StoredFile]:
    file = StoredFile(content, num_characters, "a_de.txt", "text/plain", "", client)
    return await store.add(file), file


async def has(store: FileStore, *names: str) -> list[bool]:
    return [await store.find(name) is not None for name in names]


async def test_a_file_is_found_by_its_name_until_it_expires() -> None:
    now = [0.0]
    store = FileStore(max_seconds=600, clock=lambda: now[0])
    name, file = await add(store, b"a", 7)
    other, _ = await add(store, b"b", 7)
    assert await store.find(name) == file
    assert len({name, other, file.key}) == 3
    now[0] = 600
    assert await has(store, name) == [True]
    now[0] = 601
    assert await has(store, name) == [False]


async def test_the_oldest_are_dropped_if_all_together_are_too_many_bytes() -> None:
    store = FileStore(max_bytes=10_000)
    names = [(await add(store, b"a" * 2000, 1))[0] for _ in range(5)]
    assert await has(store, *names) == [False, False, True, True, True]
    largest, _ = await add(store, b"b" * 50_000, 1)  # the newest stays, however large
    assert await has(store, largest, *names) == [True] + [False] * 5
    names = [(await add(store, b"", 0))[0] for _ in range(100)]  # bounded too, without content
    assert sum(await has(store, *names)) == 9


@given(
    st.lists(st.tuples(st.integers(0, NUM_CLIENTS - 1), st.integers(0, 12_000)), max_size=40),
)
@example([(0, 9000), (1, 9000), (2, 11_000), (3, 12_000)])
async def test_who_has_at_most_an_equal_share_loses_nothing_to_others(
    sent: list[tuple[int, int]],
) -> None:
    max_bytes = 20_000
    store = FileStore(max_bytes)
    names: dict[int, list[tuple[str, int]]] = {client: [] for client in range(NUM_CLIENTS)}
    for client, size in sent:
        name, file = await add(store, b"a" * size, 1, f"address/{client}")
        names[client].append((name, file.num_bytes))
        assert await has(store, name) == [True]
        kept = {one: await has(store, *(name for name, _ in names[one])) for one in names}
        for one, files in names.items():
            if sum(size for _, size in files) <= max_bytes / NUM_CLIENTS:
                assert all(kept[one])
            assert kept[one] == sorted(kept[one])  # the oldest go first
        sizes = [size for files in names.values() for _, size in files]
        is_kept = [is_there for one in names for is_there in kept[one]]
        total = sum(size for size, is_there in zip(sizes, is_kept, strict=True) if is_there)
        assert total <= max_bytes + file.num_bytes


async def test_a_removed_file_makes_room() -> None:
    store = FileStore(max_bytes=10_000)
    first, _ = await add(store, b"a" * 3900, 1)
    second, _ = await add(store, b"a" * 3900, 1)
    store.remove(first)
    store.remove(first)
    third, _ = await add(store, b"a" * 3900, 1)
    assert await has(store, first, second, third) == [False, True, True]
