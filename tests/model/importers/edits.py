"""Changes to an original before it is imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Edit = Callable[[Path], None]


def change(file: str, **values: Any) -> Edit:
    """Set values at the top of a JSON file."""

    def edit(directory: Path) -> None:
        path = directory / file
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return edit
