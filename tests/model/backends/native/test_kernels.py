"""Laws of the arithmetic, for every instruction set that runs here: what float64 gives, over all
floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from model.backends.native import PackedModel, kernel_names
from model.backends.native.library import address, required_library
from model.backends.native.packed import ACTIVATIONS
from model.network.config import Activation
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.backends.test_networks import ROOM, steps
from tests.model.network.reference import CONTROL_IDS, tiny_model

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
NONE = len(ACTIVATIONS)
"""The activation of layers that have none."""


class Curve(NamedTuple):
    """An activation in float64; `error` is how far ours may be away, as a part of its argument."""

    exact: Callable[[Doubles], Doubles]
    error: float


def exact_gelu(x: Doubles) -> Doubles:
    return np.array([v * (0.5 * math.erfc(-v / math.sqrt(2))) for v in x])


def tanh_gelu(x: Doubles) -> Doubles:
    """Hendrycks and Gimpel 2016, section 2."""
    with np.errstate(over="ignore"):
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


CURVES: dict[Activation, Curve] = {
    "relu": Curve(lambda x: np.where(x < 0.0, 0.0, x), 0.0),
    "silu": Curve(lambda x: x / (1.0 + np.exp(-x)), 1e-5),
    "gelu": Curve(exact_gelu, 1e-6),
    "gelu_tanh": Curve(tanh_gelu, 1e-5),
}


def all_kinds_of_floats() -> Floats:
    """Of every exponent some, zeros and denormals included, and densely where curves bend."""
    rng = np.random.default_rng(5)
    exponents = np.repeat(np.arange(255, dtype=np.uint32), 8)
    mantissas = rng.integers(0, 2**23, len(exponents), dtype=np.uint32)
    mantissas[::8], mantissas[1::8] = 0, 2**23 - 1
    sizes = ((exponents << 23) | mantissas).view(np.float32)
    bends = np.linspace(-110, 110, 20_001, dtype=np.float32)
    return np.concatenate([sizes, -sizes, bends])


def linear(
    kernels: str, activation: int, is_quantised: bool, weight: Floats, bias: Floats, x: Floats
) -> Floats:
    """One layer: weight (outputs, inputs), bias (outputs), x (rows, inputs) -> (rows, outputs)."""
    outputs, inputs = weight.shape
    y = np.empty((len(x), outputs), dtype=np.float32)
    sizes = (kernel_names().index(kernels), activation, is_quantised, len(x), inputs, outputs)
    required_library().dragoman_linear(*sizes, *map(address, (weight, bias, x, y)))
    return y


def activated(kernels: str, activation: Activation, x: Floats) -> Floats:
    """By a layer of one input, which is 1."""
    one, zeros = np.ones((1, 1), dtype=np.float32), np.zeros_like(x)
    return linear(kernels, ACTIVATIONS[activation], False, x[:, None].copy(), zeros, one)[0]


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("activation", CURVES)
def test_activations_are_those_of_float64_for_all_floats(
    activation: Activation, kernels: str
) -> None:
    x, curve = all_kinds_of_floats(), CURVES[activation]
    with np.errstate(over="ignore"):
        expected = curve.exact(x.astype(np.float64))
    found = activated(kernels, activation, x)
    distance = np.abs(found - expected)
    allowed = curve.error * np.abs(x.astype(np.float64)) + 1.5e-45  # the smallest denormal
    worst = np.argmax(distance - allowed)
    assert distance[worst] <= allowed[worst], (x[worst], found[worst], expected[worst])


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("activation", CURVES)
def test_activations_of_infinities_and_nan_are_those_of_their_formulas(
    activation: Activation, kernels: str
) -> None:
    """In every lane of a vector: what is lost is seen, and never becomes a number again."""
    x = np.tile(np.array([np.inf, -np.inf, np.nan, 1.0, -np.nan], dtype=np.float32), 16)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = CURVES[activation].exact(x.astype(np.float64))
    np.testing.assert_allclose(activated(kernels, activation, x), expected, rtol=1e-5)


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("is_quantised", [False, True])
def test_a_layer_of_any_shape_gives_what_float64_gives(is_quantised: bool, kernels: str) -> None:
    """Bytes err by half a step of each factor."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        rows, inputs, outputs = rng.integers(1, 40), rng.integers(1, 200), rng.integers(1, 100)
        weight = rng.normal(size=(outputs, inputs)).astype(np.float32)
        bias = rng.normal(size=outputs).astype(np.float32)
        x = rng.normal(size=(rows, inputs)).astype(np.float32)
        expected = x.astype(np.float64) @ weight.T + bias
        steps = np.abs(x).max(1)[:, None] / 127, np.abs(weight).max(1)[None] / 127
        sums = np.abs(x).sum(1)[:, None], np.abs(weight).sum(1)[None]
        allowed = (steps[0] * sums[1] + steps[1] * sums[0]) / 2 + inputs * steps[0] * steps[1] / 4
        found = linear(kernels, NONE, is_quantised, weight, bias, x)
        tolerance = allowed + 1e-4 if is_quantised else 1e-4
        assert np.all(np.abs(found - expected) <= tolerance)


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("is_quantised", [False, True])
def test_a_layer_of_whole_numbers_is_exact(is_quantised: bool, kernels: str) -> None:
    """In bytes too, as every number is a code and no sum saturates: all CPUs give the same."""
    rng = np.random.default_rng(8)
    for largest in range(30):
        rows, inputs, outputs = rng.integers(1, 40), rng.integers(1, 200), rng.integers(1, 100)
        least = 127 if largest < 10 else 0
        x, weight = (
            (rng.integers(least, 128, shape) * rng.choice([-1, 1], shape)).astype(np.float32)
            for shape in ((rows, inputs), (outputs, inputs))
        )
        x[:, 0], weight[:, 0] = 127, -127
        found = linear(kernels, NONE, is_quantised, weight, np.zeros(outputs, np.float32), x)
        np.testing.assert_array_equal(found, x @ weight.T)


LOGITS: dict[str, Floats] = {
    "near": np.linspace(0, -8, 1300, dtype=np.float32),
    "falling over all of the range": np.linspace(50, -250, 1300, dtype=np.float32),
    "equal and huge": np.full(1300, 3e38, dtype=np.float32),
    "huge and opposite": np.tile(np.array([-3e38, 3e38], dtype=np.float32), 650),
    "of every size": all_kinds_of_floats()[:4080],
}


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("name", LOGITS)
@torch.inference_mode()
def test_log_probabilities_are_those_of_float64_for_all_floats(name: str, kernels: str) -> None:
    """Of a network that scores every token by its bias alone."""
    logits = LOGITS[name].copy()
    model = tiny_model(vocab_size=len(logits), shared_embeddings="none")
    torch.nn.init.zeros_(model.output.weight)
    model.output.bias.data.copy_(torch.from_numpy(logits))
    network = SteppedNetwork(PackedModel(model, CONTROL_IDS, False, kernels), ROOM)
    steps(network, 1)
    best = network.rank(8)
    logits[list(CONTROL_IDS)] = -np.inf
    exact = torch.from_numpy(logits).double().log_softmax(-1)
    expected, _ = exact.topk(8)
    rounding = 1e-7 * float(np.abs(logits[np.isfinite(logits)]).max())
    found = best.log_probs[0].double()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-5 + rounding)
    assert not best.is_failed.any()
    likeliest = np.argsort(-logits, kind="stable")  # of equals the lower token
    assert best.tokens[0].tolist() == likeliest[:8].tolist()
