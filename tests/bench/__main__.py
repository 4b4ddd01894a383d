"""Run the benchmarks `tests/bench/bench_*.py`, each `main()` in a process of its own: `./run bench [NAME...]`."""

import subprocess
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    """Run those whose names contain one of `wanted` (all without it); the exit status says whether any failed."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    if {"-h", "--help"} & set(wanted):
        print(f"usage: ./run bench [NAME...]\nAll benchmarks, or those whose names contain NAME: {', '.join(found)}")
        return 0
    chosen = [name for name in found if not wanted or any(part in name for part in wanted)]
    if not chosen:
        print(f"no benchmark is named {' or '.join(wanted) or 'bench_*.py'}; there are: {', '.join(found) or 'none'}")
        return 2
    failed = []
    for name in chosen:
        print(f"\n== {name}", flush=True)
        program = f"from tests.bench.{name} import main; main()"
        if subprocess.run([sys.executable, "-c", program], check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
