import numpy as np
from scipy.optimize import linprog

rng = np.random.default_rng(1)
costs, limits = rng.random(1500), rng.random((3, 1500))
linprog(-costs, A_ub=limits, b_ub=np.ones(3), bounds=(0, 1), method="highs")
