"""The environment that every step runs in, whatever the reader's machine has set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: One thread everywhere and no dependence on the place: set before numpy, polars … are imported.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "Agg",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}


def set_for_jobs(code: Path) -> None:
    """Make jobs started from this process run the code below ``code`` with this interpreter."""
    os.environ["PYTHONPATH"] = code.as_posix()
    programs = Path(sys.executable).parent.as_posix()
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", "")])
    os.environ.update(ENVIRONMENT)


def settle() -> None:
    """Restart ``python -m remeasure.step`` once where the environment is not a step's."""
    if any(os.environ.get(key) != value for key, value in ENVIRONMENT.items()):
        os.environ.update(ENVIRONMENT)
        os.execv(sys.executable, [sys.executable, "-m", "remeasure.step", *sys.argv[1:]])  # noqa: S606
