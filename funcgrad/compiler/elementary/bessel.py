"""The modified Bessel functions of orders 0 and 1 times e^-|x|: a polynomial up to 8, and beyond it
one in 1/x over sqrt(x). In f64.
"""

from funcgrad.compiler.elementary.floats import (
    Coefficients,
    absolute,
    float_function,
    polynomial,
    select,
    with_sign,
)
from funcgrad.compiler.loops import Expr

# e^-x I0(x) in x - 4, 0 < x < 8. Relative error 1.7e-9 and 8.6e-17.
I0_NEAR: Coefficients = {
    "f32": (
        "0x1.a7f09f9357027p-3",
        "-0x1.cedda1bdf1da3p-6",
        "0x1.8322cc802f907p-8",
        "-0x1.6cb8639cc69f4p-10",
        "0x1.65c2b9af7c6ecp-12",
        "-0x1.5c0a6b551f597p-14",
        "0x1.44b19962fff19p-16",
        "-0x1.1c95fc529c145p-18",
        "0x1.d13ec48f0a8d5p-21",
        "-0x1.62698f50ae99p-23",
        "0x1.ee2fd5b27b8a1p-26",
        "-0x1.36b82e5054294p-28",
        "0x1.8612a626f1dabp-31",
        "-0x1.02d185b93207ep-33",
        "0x1.f366826e0c7a6p-37",
        "-0x1.b0bed5c5e85c9p-41",
        "0x1.40204c249cc9dp-43",
        "-0x1.b5c09d2313269p-45",
        "0x1.3e0fd2ce8acc6p-48",
    ),
    "f64": (
        "0x1.a7f09f8eedf5ap-3",
        "-0x1.cedda00486206p-6",
        "0x1.8322d1d8a3c0dp-8",
        "-0x1.6cb8d0c915be8p-10",
        "0x1.65c235bfe9486p-12",
        "-0x1.5c028fe63e6e3p-14",
        "0x1.44b6196a9c9d4p-16",
        "-0x1.1cd73a8f245dp-18",
        "0x1.d11e10f21cae6p-21",
        "-0x1.602411d25db42p-23",
        "0x1.ee6f568d7f492p-26",
        "-0x1.427b0a7b299bap-28",
        "0x1.87e86512d89c7p-31",
        "-0x1.bd257d890e2b5p-34",
        "0x1.da1ac570e58ap-37",
        "-0x1.dafa94da4946dp-40",
        "0x1.c0f33b4de1d38p-43",
        "-0x1.9177f1424517fp-46",
        "0x1.54a0dd5c13ebp-49",
        "-0x1.12fc25fc11b83p-52",
        "0x1.a670e680d611cp-56",
        "-0x1.345a025cdcb06p-59",
        "0x1.b3fdbf14341e7p-63",
        "-0x1.31a7bf005cb86p-66",
        "0x1.7f913346666dbp-70",
        "-0x1.75ed2859c8d2fp-74",
        "0x1.fc2ffbc343726p-78",
        "-0x1.15599c0706d4ep-80",
        "0x1.12af279f1794ep-84",
    ),
}
# sqrt(x) e^-x I0(x) in 1/x - 1/16, x > 8. Relative error 8.6e-9 and 6.5e-17.
I0_FAR: Coefficients = {
    "f32": (
        "0x1.9bd428e6172cbp-2",
        "0x1.b8799dffe43b5p-5",
        "0x1.1d8a79a4f6dc1p-5",
        "0x1.748d1231cbac5p-5",
        "0x1.b7de2a2f0fe6cp-4",
        "0x1.8d46c11f9b93bp-2",
    ),
    "f64": (
        "0x1.9bd428ad249a5p-2",
        "0x1.b87969bb93a3bp-5",
        "0x1.1daa72b5a984dp-5",
        "0x1.75e5ee788a15fp-5",
        "0x1.8e513f58a9041p-4",
        "0x1.3f4991b0a6d04p-2",
        "0x1.7d09d62f72ac2p+0",
        "0x1.51d68f60cd099p+3",
        "0x1.72ebecf81d2f8p+6",
        "0x1.02c07ae9ae8bp+9",
        "-0x1.deb1bb566317dp+12",
        "-0x1.c9725407631bcp+17",
        "-0x1.42479075659ecp+20",
        "0x1.f64431bec93ecp+24",
        "0x1.9508044947ebep+28",
        "-0x1.a9d4bc06d5a26p+31",
        "-0x1.0257b4b2b4abp+36",
        "0x1.2792f2df1d3e9p+38",
        "0x1.b1966c6dba049p+42",
        "-0x1.2544b2ebeab72p+44",
        "-0x1.b5b81a2b57886p+48",
        "0x1.27d74124f1433p+49",
        "0x1.8929b429998bep+53",
    ),
}
# e^-x I1(x) / x in x - 4, 0 < x < 8. Relative error 8.1e-10 and 8.4e-17.
I1_NEAR: Coefficients = {
    "f32": (
        "0x1.6e14eb92f3558p-5",
        "-0x1.f4bb0746036e4p-7",
        "0x1.16c38f3fb5fddp-8",
        "-0x1.188130bce419dp-10",
        "0x1.0531263976f0fp-12",
        "-0x1.c4dbd2a7a9613p-15",
        "0x1.6df58b39a3b34p-17",
        "-0x1.13cacc4b6fbbcp-19",
        "0x1.84396e00cc38fp-22",
        "-0x1.ff1a2b73cbb3dp-25",
        "0x1.3938c2889582ap-27",
        "-0x1.65db4578803b1p-30",
        "0x1.8ea8579df7a72p-33",
        "-0x1.b3933b7e5fdep-36",
        "0x1.7b45044226013p-39",
        "-0x1.d6d9373aff6afp-43",
        "0x1.2c5d9fd78cbfap-45",
        "-0x1.f07ccbdb4be0bp-48",
        "0x1.2e4a11a45e76p-51",
    ),
    "f64": (
        "0x1.6e14eb8e5d319p-5",
        "-0x1.f4bb071a7752bp-7",
        "0x1.16c390ddb08f3p-8",
        "-0x1.1881379ffb5ddp-10",
        "0x1.0530f817ff83ap-12",
        "-0x1.c4daa51341181p-15",
        "0x1.6df95e8be6e0bp-17",
        "-0x1.13d5f358b4bfbp-19",
        "0x1.84125b0c63a85p-22",
        "-0x1.fe3d9bfe7eec4p-25",
        "0x1.3a0c1a0de07p-27",
        "-0x1.6ab6a3b8edd54p-30",
        "0x1.89f8a57038647p-33",
        "-0x1.936822947eb53p-36",
        "0x1.8656d24b46566p-39",
        "-0x1.65bf9e14c76bbp-42",
        "0x1.37425f09bfdd8p-45",
        "-0x1.01a20c7a5f215p-48",
        "0x1.969ce816f9762p-52",
        "-0x1.32883115d18bep-55",
        "0x1.b9b7beff46b84p-59",
        "-0x1.3057cd3e93505p-62",
        "0x1.96494869734a5p-66",
        "-0x1.097eda5fc9d9cp-69",
        "0x1.3ae2e3f71259cp-73",
        "-0x1.3beabf8495b26p-77",
        "0x1.a3eadb84d85c8p-81",
        "-0x1.7cc4417cd0725p-84",
        "0x1.50fd5c609c895p-88",
    ),
}
# sqrt(x) e^-x I1(x) in 1/x - 1/16, x > 8. Relative error 1.0e-8 and 4.9e-17.
I1_FAR: Coefficients = {
    "f32": (
        "0x1.8ebe77fa828e7p-2",
        "-0x1.3f7971b992415p-3",
        "-0x1.cba1524f8e58ep-5",
        "-0x1.f70273c44efb8p-5",
        "-0x1.0da90d350f7ebp-3",
        "-0x1.cf409a0489b3ep-2",
    ),
    "f64": (
        "0x1.8ebe783a8403p-2",
        "-0x1.3f796198ee55cp-3",
        "-0x1.cbc54df1f5e3dp-5",
        "-0x1.f89c2314c832p-5",
        "-0x1.ec8e0fa49e4bcp-4",
        "-0x1.7613575b01866p-2",
        "-0x1.ad8dc575bacabp+0",
        "-0x1.7286fe75b4ccp+3",
        "-0x1.918f53c79ad56p+6",
        "-0x1.20656d020eeecp+9",
        "0x1.d018794cda8fp+12",
        "0x1.ddf06bfd8ce29p+17",
        "0x1.919950837a50fp+20",
        "-0x1.f90aaea4bb38bp+24",
        "-0x1.ffe67cf7480a4p+28",
        "0x1.9807694384c51p+31",
        "0x1.70b3c5753269dp+36",
        "-0x1.0a623e2348fap+38",
        "-0x1.7424fabbdaa16p+43",
        "0x1.edc7712101b4bp+43",
        "0x1.dac2fabb33a52p+49",
        "-0x1.d1920ee1417a3p+48",
        "-0x1.1ac87635f0f57p+55",
    ),
}


@float_function
def bessel_i0e(x: Expr) -> Expr:
    size = absolute(x.to("f64"))
    near = polynomial(size - 4.0, I0_NEAR[x.dtype])
    return select(size > 8.0, far(size, I0_FAR[x.dtype]), near).to(x.dtype)


@float_function
def bessel_i1e(x: Expr) -> Expr:
    size = absolute(x.to("f64"))
    near = size * polynomial(size - 4.0, I1_NEAR[x.dtype])
    return with_sign(select(size > 8.0, far(size, I1_FAR[x.dtype]), near).to(x.dtype), x)


def far(x: Expr, coefficients: tuple[str, ...]) -> Expr:
    return polynomial(1.0 / x - 0.0625, coefficients) / x.apply("sqrt")
