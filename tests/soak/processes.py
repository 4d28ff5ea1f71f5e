"""Kill processes of a server at random for a minute, under load.

python -m tests.soak.processes
"""

from __future__ import annotations

import argparse

from tests.end_to_end.load import kill_at_random
from tests.end_to_end.process import server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with server("--engines", "2", "--front-ends", "2", "--threads", "2") as process:
        process.wait_until_ready()
        print(dict(kill_at_random(process, given.seconds, given.seed)))
        process.popen.terminate()
        print("ended with code", process.popen.wait(timeout=60))


if __name__ == "__main__":
    main()
