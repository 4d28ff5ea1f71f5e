"""The markup scanner and the division of pages, driven by Atheris, which looks for new branches.

    python -m tests.fuzz.markup -max_total_time=300 -seed=1

Arguments are libFuzzer's. Needs dragoman[fuzz].
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["service.translation.markup"]):
    from service.translation.markup.flow import Flow
    from service.translation.markup.page import take_apart
    from service.translation.markup.scanner import scan


def check(data: bytes) -> None:
    """The tokens of any text join to it; a page is taken apart without an error."""
    source = data.decode("utf-8", "replace")
    end = 0
    for token in scan(source):
        assert token.start == end < token.end
        end = token.end
    assert end == len(source)
    assert all(isinstance(part, str | Flow) for part in take_apart(source))


def main() -> None:
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
