"""Marian itself, from `pip install pymarian` (600 MB, x86-64): a model of OPUS-MT's shape, float32.

An end is made impossible: a translation is 1.5 times as long as its source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pymarian import Translator
from safetensors.numpy import load_file

from benchmarks.peers.shapes import Shape

_SETTINGS = {"type": "transformer", "version": "v1.12", "tied-embeddings-all": True, "dim-emb": 512}
_SETTINGS |= {"enc-depth": 6, "dec-depth": 6, "transformer-heads": 8, "transformer-dim-ffn": 2048}
_SETTINGS |= {"transformer-ffn-activation": "swish", "transformer-postprocess": "dan"}
_RULES = (
    (r"model\.(\w+)\.layers\.(\d+)\.", lambda match: f"{match[1]}_l{int(match[2]) + 1}_"),
    (r"final_layer_norm", "ffn_ffn_ln"),
    (r"_attn_layer_norm", "_Wo_ln"),
    (r"_ln\.weight|_ln\.bias", lambda match: "_ln_scale" if "weight" in match[0] else "_ln_bias"),
    (r"_attn\.(.)\w+\.(.)\w+", lambda match: f"_{'W' if match[2] == 'w' else 'b'}{match[1]}"),
    (r"fc(.)\.(.)\w+", lambda match: f"ffn_{'W' if match[2] == 'w' else 'b'}{match[1]}"),
    (r"_encoder_", "_context_"),
)


class Marian:
    """As many translators, of a thread each."""

    def __init__(self, shape: Shape, num_translators: int) -> None:
        theirs, size = Path(shape.transformers), len(shape.pieces)
        arrays: dict[str, Any] = {"decoder_ff_logit_out_b": np.zeros((1, size), np.float32)}
        arrays["decoder_ff_logit_out_b"][0, [0, size - 1]] = -1e9  # end and padding
        for name, array in load_file(theirs / "model.safetensors").items():
            for pattern, marian in _RULES if ".layers." in name else [("^model.shared.*", "Wemb")]:
                name = re.sub(pattern, marian, name)
            is_matrix = array.ndim == 2 and name != "Wemb"
            arrays[name] = np.ascontiguousarray(array.T if is_matrix else np.atleast_2d(array))
        settings = json.dumps({**_SETTINGS, "dim-vocabs": [size, size]}) + "\0"
        arrays["special:model.yml"] = np.frombuffer(settings.encode(), np.int8)
        np.savez(theirs / "marian.npz", **arrays)
        (theirs / "marian.yml").write_text("".join(f"{_token(i)}: {i}\n" for i in range(size)))
        command = f"-m {theirs}/marian.npz -v {theirs}/marian.yml {theirs}/marian.yml --quiet"
        command += f" --cpu-threads {num_translators} --mini-batch 16 --max-length-factor 1.5"
        self._by_beam = {beam: Translator(f"{command} --beam-size {beam}") for beam in (1, 4)}

    def translate(self, sources: Sequence[list[int]], beam_size: int) -> list[list[int]]:
        found = self._by_beam[beam_size].translate([" ".join(map(_token, i[:-1])) for i in sources])
        return [[int(token[1:]) for token in line.split()] for line in found]


def _token(number: int) -> str:
    return f"t{number}" if number > 1 else ("</s>", "<unk>")[number]
