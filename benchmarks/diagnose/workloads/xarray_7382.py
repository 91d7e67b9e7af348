import numpy as np
import xarray

array = xarray.DataArray(np.arange(100_000), dims="x")
for _ in range(250):
    xarray.Dataset(coords={"x": np.arange(100_000)}).assign(one=array)
