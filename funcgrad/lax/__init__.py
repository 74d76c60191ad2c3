"""The primitives as functions: strict about dtypes and shapes, the layer under `funcgrad.numpy`."""
