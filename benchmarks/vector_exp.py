"""The native exponential in cache, one thread, beside numpy's, and the error in ulp."""

import numpy as np

from harness import Section, interleaved, options
from mercer import _native
from roofline import note_of


def main() -> None:
    args = options()
    section = Section(
        "vector_exp",
        "exp(-x) for x in [0, 87], 8,192 values in cache, one thread.",
        ["loop", "dtype", "10^9 values/s", "largest error (ulp)"],
    )
    chosen = _native.isa()
    for dtype in (np.float32, np.float64):
        x = np.linspace(0, 87, 8192).astype(dtype)
        wanted = np.exp(-x.astype(np.longdouble))
        out = np.empty_like(x)
        for isa in [*_native.available_isas(), "numpy"]:
            if isa == "numpy":

                def run(x=x, out=out):
                    for _ in range(50):
                        np.exp(-x, out=out)

                values = np.exp(-x)
            else:
                _native.use_isa(isa)
                values = x.copy()
                _native.exp_scaled(values, 1.0)
                d = x.copy()

                def run(d=d):
                    for _ in range(50):
                        _native.exp_scaled(d, 0.0)

            seconds = interleaved({"run": run}, 5 if args.quick else 40)["run"]
            ulp = np.abs(values - wanted) / np.spacing(wanted.astype(dtype))
            rate = 50 * len(x) / seconds / 1e9
            section.row(isa, np.dtype(dtype).name, f"{rate:.2f}", f"{float(ulp.max()):.2f}")
    _native.use_isa(chosen)
    section.note(note_of("exponential"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
