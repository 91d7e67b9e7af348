import numpy as np
import xarray

times = xarray.cftime_range("2000-01-01", periods=500, calendar="noleap")
array = xarray.DataArray(np.arange(500), dims="time", coords={"time": times})
for _ in range(150):
    array.time.dt.year, array.time.dt.month, array.time.dt.dayofyear
