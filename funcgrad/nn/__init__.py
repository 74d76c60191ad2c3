"""Functions of neural networks, and small layers, each of which is a pair of pure functions."""

from funcgrad.nn import initializers
from funcgrad.nn._activations import (
    celu,
    elu,
    gelu,
    glu,
    identity,
    log_sigmoid,
    mish,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    squareplus,
    swish,
)
from funcgrad.nn._attention import dot_product_attention
from funcgrad.nn._conv import conv
from funcgrad.nn._dense import dense
from funcgrad.nn._layer import Layer, flatten, sequential
from funcgrad.nn._logmeanexp import log1mexp, logmeanexp
from funcgrad.nn._losses import softmax_cross_entropy
from funcgrad.nn._one_hot import one_hot
from funcgrad.nn._rectifiers import (
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    leaky_relu,
    relu,
    relu6,
    sparse_plus,
    sparse_sigmoid,
)
from funcgrad.nn._softmax import log_softmax, softmax, standardize
from funcgrad.numpy import tanh
from funcgrad.scipy.special import logsumexp

__all__ = [
    # activations
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
    # along an axis
    "dot_product_attention",
    "log1mexp",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "one_hot",
    "softmax",
    "standardize",
    # layers and losses
    "Layer",
    "conv",
    "dense",
    "flatten",
    "initializers",
    "sequential",
    "softmax_cross_entropy",
]
