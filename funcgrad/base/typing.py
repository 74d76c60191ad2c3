"""What may stand for an array or a dtype in a call, for annotations."""

from typing import Any

import numpy as np

from funcgrad.base.methods import Array

ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | Any
