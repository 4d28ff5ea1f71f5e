"""The settings of a deployment, and each replica's share of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.ray_serve.settings import read_arguments


def test_arguments_win_over_the_environment_and_both_over_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_REPLICAS", "2")
    monkeypatch.setenv("DRAGOMAN_MAX_SLOTS", "8")
    assert read_arguments({}).replicas == 2
    settings = read_arguments({"replicas": "3", "model": "a,b"})
    assert (settings.replicas, settings.max_slots) == (3, 8)
    assert settings.model == (Path("a"), Path("b"))


def test_a_replica_has_the_servers_settings_and_its_share_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_MAX_TEXTS", "5")
    own = read_arguments({"cpus": "2.5", "max_slots": "8"}).of_one_replica()
    assert (own.max_texts, own.max_slots) == (5, 8)
    assert (own.device, own.threads) == ("cpu", 3)
    assert read_arguments({"gpus": "0.5"}).of_one_replica().device == "cuda"
    assert read_arguments({"gpus": "1", "device": "cpu"}).of_one_replica().device == "cpu"
    assert read_arguments({"cpus": "4", "threads": "1"}).of_one_replica().threads == 1


def test_a_replica_computes_on_all_its_gpus_and_keeps_to_its_part_of_one() -> None:
    half = read_arguments({"gpus": "0.5"}).of_one_replica()
    assert (half.device, half.gpu_share) == ("cuda", 0.5)
    smaller = read_arguments({"gpus": "0.5", "gpu_share": "0.2"}).of_one_replica()
    assert smaller.gpu_share == 0.2
    two = read_arguments({"gpus": "2"})
    assert (two.of_one_replica().device, two.of_one_replica().gpu_share) == ("cuda:0,1", 1.0)
    one = read_arguments({"gpus": "1"})
    assert (one.of_one_replica().device, one.of_one_replica().gpu_share) == ("cuda", 1.0)
    assert read_arguments({}).of_one_replica().gpu_share == 1.0
    slots = two.max_ongoing_requests - one.max_ongoing_requests
    assert slots == 1024 * len(two.model)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"replicas": "0"}, ["replicas", "1", "'0'"]),
        ({"replicas": "3", "max_replicas": "2"}, ["max_replicas", "3", "2"]),
        ({"gpus": "1.5"}, ["gpus", "1.5"]),
        ({"device": "cuda"}, ["cuda", "gpus"]),
        ({"slots": "3"}, ["slots", "'3'"]),
        ({"port": "80"}, ["port", "http_options"]),
    ],
)
def test_wrong_arguments_are_one_sentence_with_what_was_got(
    wrong: dict[str, str], told: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        read_arguments(wrong)
    assert all(word in str(caught.value) for word in told)
