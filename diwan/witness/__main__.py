"""Run a witness: ``python -m diwan.witness --help``."""

import sys

from diwan.witness.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
