"""The project's internal benchmarks: python -m tests.bench --suite NAME."""

from __future__ import annotations

import sys

from tests.bench import command

sys.exit(command.main())
