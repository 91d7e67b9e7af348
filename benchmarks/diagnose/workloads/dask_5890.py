import dask.array as da
from dask.array.optimization import optimize

array = da.ones((4,), chunks=4).map_blocks(abs, dtype=float)
for _ in range(4000):
    optimize(array.dask, array.__dask_keys__())
