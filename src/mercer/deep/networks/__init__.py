"""Networks whose layers are explicit features of kernels."""
