"""Fuzz the readers of files: `python tests/fuzz [TARGET …] --inputs N --processes P --seed S`; CONTRIBUTING says when.

Exit 0 where nothing was found, 1 where something was; each finding is written into the folder of --keep.
"""

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process is one of many

import fuzzing
from targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], help="what to fuzz (default: all)")
    parser.add_argument("--inputs", type=int, default=1000, help="of each target (default 1000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, of each target")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal(), help="default: one of each day")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "catena-fuzz", help="for findings")
    args = parser.parse_args()
    found = 0
    for name in args.target or TARGETS:
        began = time.perf_counter()
        report = fuzzing.fuzz(name, args.inputs, args.processes, args.seed, args.seconds, args.keep / name)
        seconds = time.perf_counter() - began
        found += len(report.findings)
        row = {
            "target": name, "inputs": report.inputs, "seconds": round(seconds, 1), "taken": report.accepted,
            "lines": report.lines, "slowest_s": round(report.slowest, 3), "findings": len(report.findings),
            "seed": args.seed, "processes": args.processes,
        }  # fmt: skip
        print(json.dumps(row), flush=True)
        for what, (count, path) in sorted(report.findings.items()):
            print(f"  {count} ×  {what}\n      {path}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    sys.exit(main())
