"""Claims of docs/live.md."""

from collections.abc import Iterable

import page_text
from page_text import exempt, g

from engine.live import records, show
from engine.recording.recording import MAX_RUNS

PAGE = "docs/live.md"
claims = page_text.of(PAGE)


@claims
def limits() -> Iterable[str]:
    """Limits of frames, runs and files."""
    yield f"A frame is written every 1/{1 / show.PERIOD:.0f} s of wall clock or simulated time, or less often"
    yield f"frames take at most {g(100 * show.SHARE)} % of the script's time"
    yield f"the newest {MAX_RUNS - 1} are kept"
    size = records.LARGEST // 2**20
    yield f"The newest {size} to {records.FILES * size} MB of frames follow"


exempt(PAGE, "an example", "while sim.time < 10: … np.sin(3 * sim.time)")
exempt(
    PAGE,
    "measured, at 1000 steps a second",
    "A call for steps reads the clock, in 0.2 µs.",
    "At 1000 steps a second, on two cores … which grasps a cube, 60 times for 1.1 %.",
)
