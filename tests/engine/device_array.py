"""A substitute for CuPy without a GPU: it accepts NumPy's calls, and detects implicit copies to the host."""

from types import SimpleNamespace

import numpy as np


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that NumPy's functions work on, as CuPy's do, but that NumPy's arrays do not mix with.

    `reads` counts what was copied to the host: by `get`, or by asking for a truth or a number.
    """

    reads = 0

    def __init__(self, host):
        self.host = np.asarray(host)

    shape = property(lambda self: self.host.shape)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    dtype = property(lambda self: self.host.dtype)

    def __len__(self):
        return len(self.host)

    def __getitem__(self, key):
        return DeviceArray(self.host[key])

    def __setitem__(self, key, value):
        self.host[key] = _host(value)

    def reshape(self, *shape):
        return DeviceArray(self.host.reshape(*shape))

    def copy(self):
        return DeviceArray(self.host.copy())

    def __dlpack_device__(self):
        return 2, 0  # a GPU of CUDA

    def get(self):
        DeviceArray.reads += 1
        return self.host.copy()

    def __bool__(self):
        return bool(self.get())

    def __float__(self):
        return float(self.get())

    def __array__(self, *_args, **_kwargs):
        raise TypeError("a device array turned into NumPy's without get()")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            options["out"] = tuple(_host(x) for x in out)
        result = getattr(ufunc, method)(*(_host(x) for x in inputs), **options)
        return out[0] if out is not None else DeviceArray(result)

    def __array_function__(self, function, types, args, options):
        assert all(issubclass(kind, DeviceArray) for kind in types), f"{function.__name__} mixes devices: {types}"
        if function is np.asarray:  # called with like=, to bring an array to the device
            return DeviceArray(np.array(*args, **options))
        result = function(*_hosts(args), **{key: _host(value) for key, value in options.items()})
        return tuple(map(DeviceArray, result)) if isinstance(result, tuple) else DeviceArray(result)


def _host(value):
    if isinstance(value, DeviceArray):
        return value.host
    assert not isinstance(value, np.ndarray), "a NumPy array among device arrays"
    return value


def _hosts(values):
    return type(values)(_hosts(x) if isinstance(x, list | tuple) else _host(x) for x in values)


library = SimpleNamespace(__name__="a stand-in for CuPy", asarray=DeviceArray)
