import numpy as np
import xarray


def part(start):
    data = {f"v{n}": ("t", np.ones(40)) for n in range(150)}
    return xarray.Dataset(data, coords={"t": np.arange(start, start + 40)})


xarray.concat([part(40 * n) for n in range(20)], dim="t")
