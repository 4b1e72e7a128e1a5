"""The window's class for the annotations of features, which the window itself imports."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.window import Window as Window
else:
    Window = object
