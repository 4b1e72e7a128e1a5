"""Seeds of random cases: the same in every run, so that a commit fails for what it changed and not for its day."""

from __future__ import annotations

import os

SEED = 20160501
OTHER = int(os.environ.get("CATENA_SEED", "739582"))
"""Of cases that any seed may make: `CATENA_SEED=$RANDOM uv run pytest` tests the same laws on others."""
