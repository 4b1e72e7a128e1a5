"""Seeds of random cases: the same in every run, so that a commit fails for what it changed and not for its day.

`CATENA_SEED=$RANDOM uv run pytest` tests the same laws on other cases.
"""

import os

from hypothesis import settings

SEED = 20160501
OTHER = int(os.environ.get("CATENA_SEED", "739582"))
"""Of cases that any seed may make."""

settings.register_profile("catena", derandomize="CATENA_SEED" not in os.environ)
settings.load_profile("catena")
