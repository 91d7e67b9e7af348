import dask.array as da
import numpy as np

rng = np.random.default_rng(1)
array = da.zeros((2000, 2000), chunks=(200, 200))
rows, columns = rng.integers(0, 2000, (250, 1)), rng.integers(0, 2000, (1, 250))
array.vindex[rows, columns].compute(scheduler="synchronous")
