"""``make bench``: every benchmark in a process of its own, and RESULTS.md written anew.

With ``--quick`` all are run on less, and nothing is written.
"""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = ["vector_exp", "gram_products", "prepared_rows", "kmers", "strings", "sets_and_edit",
              "hashing", "dedup",
              "string_learning", "multilayer", "small_data", "svc_fit",
              "svm_fit", "svm_search", "svm_path", "svm_agreement", "svm_large", "linear_svm",
              "quantiles", "intervals", "ordered",
              "ridge_search", "local_ridge", "perceptrons", "clusters", "spectral", "deep",
              "deep_kernels",
              "deep_inducing",
              "neighbours", "neighbourhood", "knn_learners", "objects", "series_features",
              "series_machines", "signature_kernels", "bags",
              "graphs", "trees", "chem",
              "weights", "multiple_kernels", "start_up", "checks", "read_tables", "memory",
              "tables", "fresh",
              "large_tables",
              "scale", "cluster"]  # fmt: skip

more = sys.argv[1:] if "--quick" in sys.argv else ["--write", *sys.argv[1:]]
failed = []
for name in BENCHMARKS:
    print(f"\n--- {name}", flush=True)
    script = Path(__file__).parent / f"{name}.py"
    if subprocess.run([sys.executable, str(script), *more]).returncode:
        failed.append(name)
sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
