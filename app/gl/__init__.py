"""The renderer: draws robots with OpenGL 3.3, in a window or without one."""

from __future__ import annotations

import os
import sys

# PyOpenGL selects its platform on first import. On Linux EGL serves Qt's contexts on X11 and Wayland and
# contexts without a display; the system's own libraries serve the other platforms.
if sys.platform.startswith("linux"):
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
