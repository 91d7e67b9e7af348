import xarray
from xarray.core.indexes import PandasIndex

times = xarray.cftime_range("1900-01-01", periods=2000, calendar="noleap")
for _ in range(4000):
    PandasIndex(times, "time")
