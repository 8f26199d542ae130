"""What figures and pages say of where their data comes from."""

from __future__ import annotations

#: By origin; pure mathematics has none and says nothing.
ORIGIN_LABELS = {
    "generated": "generated data",
    "files": "real data, from files",
    "mirror": "real data, from a mirror",
    "package": "real data, from a Python package",
    "public": "real data",
}
