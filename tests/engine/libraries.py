"""The array libraries on which the texts of the algorithms are tested."""

import numpy as np
import pytest
from device_array import DeviceArray, library


def cupy():
    import cupy

    return cupy


LIBRARIES = [
    pytest.param(lambda: np, id="numpy"),
    pytest.param(lambda: library, id="stand-in"),
    pytest.param(cupy, id="cupy", marks=pytest.mark.gpu),
]


def host(x):
    return x if isinstance(x, np.ndarray) else x.get()


class HostReads:
    """Count the copies from device to host within the context; NumPy makes none."""

    def __init__(self, xp, monkeypatch):
        self.count, self._xp, self._patch = 0, xp, monkeypatch

    def __enter__(self):
        if self._xp is library:
            self._before = DeviceArray.reads
        elif self._xp is not np:
            original = self._xp.ndarray.get

            def counted(array, *args, **kwargs):
                self.count += 1
                return original(array, *args, **kwargs)

            self._patch.setattr(self._xp.ndarray, "get", counted)
        return self

    def __exit__(self, *_exception):
        if self._xp is library:
            self.count = DeviceArray.reads - self._before
        elif self._xp is not np:
            self._patch.undo()
