"""Names that stand for something: dtypes, kinds of dtypes, numbers, and NumPy's own helpers."""

import numpy as np

from funcgrad.base import dtypes, promotion, scalar_types
from funcgrad.base.methods import Array

ndarray = Array
newaxis = None

# numbers
e, pi, inf, nan, euler_gamma = np.e, np.pi, np.inf, np.nan, np.euler_gamma

# scalar types: dtypes that make arrays when they are called
_maker = scalar_types.SCALAR_MAKERS
bool_ = bool = _maker["bool"]
int1, int2, int4, int8 = (_maker[f"int{n}"] for n in (1, 2, 4, 8))
int16, int32, int64 = (_maker[f"int{n}"] for n in (16, 32, 64))
uint1, uint2, uint4, uint8 = (_maker[f"uint{n}"] for n in (1, 2, 4, 8))
uint16, uint32, uint64 = (_maker[f"uint{n}"] for n in (16, 32, 64))
float16, float32, float64 = _maker["float16"], _maker["float32"], _maker["float64"]
bfloat16 = _maker["bfloat16"]
complex64, complex128 = _maker["complex64"], _maker["complex128"]
float4_e2m1fn = _maker["float4_e2m1fn"]
float6_e2m3fn, float6_e3m2fn = _maker["float6_e2m3fn"], _maker["float6_e3m2fn"]
float8_e3m4, float8_e4m3, float8_e5m2 = (_maker[f"float8_{n}"] for n in ("e3m4", "e4m3", "e5m2"))
float8_e4m3b11fnuz, float8_e4m3fn = _maker["float8_e4m3b11fnuz"], _maker["float8_e4m3fn"]
float8_e4m3fnuz, float8_e5m2fnuz = _maker["float8_e4m3fnuz"], _maker["float8_e5m2fnuz"]
float8_e8m0fnu = _maker["float8_e8m0fnu"]

int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128

# kinds of dtypes, for issubdtype
generic, number, integer, inexact = np.generic, np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
character, flexible, object_ = np.character, np.flexible, np.object_

# questions about dtypes
dtype = np.dtype
finfo, iinfo = dtypes.finfo, dtypes.iinfo
isdtype, issubdtype = dtypes.isdtype, dtypes.issubdtype
promote_types, result_type = promotion.promote_types, promotion.result_type

# NumPy's own
ComplexWarning = np.exceptions.ComplexWarning
iterable = np.iterable
get_printoptions, set_printoptions = np.get_printoptions, np.set_printoptions
printoptions = np.printoptions
