import numpy as np
import xarray

dataset = xarray.Dataset(coords={"x": np.arange(100_000)})
array = xarray.DataArray(np.arange(100_000), dims="x")
for _ in range(120):
    dataset.assign(one=array)
