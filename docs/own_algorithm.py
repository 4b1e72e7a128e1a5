"""An algorithm of your own beside Catena's.

    main.py compare arm7 --algorithm abia --algorithm docs/own_algorithm.py:by_columns

A function takes the model and arrays, batch first: q (batch, nq), v and tau (batch, nv), and answers q̈ (batch, nv).
They are in the number type of the comparison, NumPy's, and cannot be written to. Its answers are checked by inverse
dynamics; one that is wrong gets no time. The function runs, and is timed, in five fresh processes one after the other:
each imports the file anew, what it prints goes to standard error, and Stop or Ctrl-C ends it even where it hangs.
"""

import numpy as np

import engine

DEVICES = ("cpu",)  # with "cuda" it is called on the GPU as well, with CuPy arrays


def by_columns(model, q, v, tau):
    """M q̈ = τ − τ_bias, where M's columns are inverse dynamics of unit accelerations ([Y] (6)), q̈ by NumPy's solver."""
    bias = engine.bias(model, q, v)
    columns = [engine.inverse_dynamics(model, q, v, np.broadcast_to(unit, v.shape)) - bias for unit in np.eye(model.nv)]
    return np.linalg.solve(np.stack(columns, -1), (tau - bias)[..., None])[..., 0]
