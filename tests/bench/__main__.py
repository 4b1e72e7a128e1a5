"""The project's internal benchmarks: python -m tests.bench --suite NAME."""

import sys

from tests.bench import command

sys.exit(command.main())
