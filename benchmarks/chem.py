"""Molecules: pairs of fingerprints in a second beside RDKit's own, nearest neighbours in a million,
properties predicted from SMILES alone, and a model of 150,000 molecules.

MERCER_DATA is needed for the tables. ``--part`` runs one section alone. Peers: random forests on
folded counts of Morgan's fragments and on all descriptors of RDKit, gradient boosting on these (if
LightGBM is installed), and support vectors on the Tanimoto kernel of scikit-fingerprints (if it is
installed; C of 1, 10, 100 by 5 folds). Three splits, a fifth held out; by scaffold, whole
Bemis-Murcko scaffolds are.
"""

import time
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np
import pandas as pd
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import Crippen, Descriptors as OfRDKit, rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupShuffleSplit, ShuffleSplit
from sklearn.svm import SVC, SVR

from harness import Section, data_folder, options
from mercer import KernelClassifier, KernelRegressor, KernelRidgeClassifier
from mercer.distances import Tanimoto
from mercer.kernels import AtomPairs, Jaccard, Morgan, Torsions
from mercer.samples import as_samples
from mercer.search import BruteForce
from roofline import note_of

SPLITS, HELD, TIME = 3, 0.2, 60
#: name -> file, columns of SMILES and of the target, and whether these are classes
TABLES = {
    "ESOL": ("ESOL.csv", "smiles", "measured log solubility in mols per litre", False),
    "FreeSolv": ("FreeSolv.csv", "smiles", "expt", False),
    "Photoswitch": ("Photoswitch.csv", "SMILES", "E isomer pi-pi* wavelength in nm", False),
    "Lipophilicity": ("Lipophilicity.csv", "smiles", "exp", False),
    "BBBP": ("bbbp.csv", "smiles", "p_np", True),
    "BACE": ("bace.csv", "mol", "Class", True),
}
FRAGMENTS = {
    "Morgan 2": (Morgan(), rdFingerprintGenerator.GetMorganGenerator(radius=2)),
    "atom pairs": (AtomPairs(), rdFingerprintGenerator.GetAtomPairGenerator()),
    "torsions": (Torsions(), rdFingerprintGenerator.GetTopologicalTorsionGenerator()),
}


def processor(run, repeats=3):
    """Least seconds of the processor, and the last result."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        times.append(time.process_time() - began)
    return min(times), found


def bulk(prints, rows):
    """RDKit's coefficients of some molecules with all."""
    return [DataStructs.BulkTanimotoSimilarity(prints[i], prints) for i in range(rows)]


def pairs(folder, section, quick):
    texts = [
        text for text in pd.read_csv(folder / "Lipophilicity.csv")["smiles"] if "." not in text
    ]
    texts = texts[: 1000 if quick else 4000]
    molecules = list(map(Chem.MolFromSmiles, texts))
    n, few = len(texts), 20
    for name, (kernel, generator) in FRAGMENTS.items():
        prints = list(map(generator.GetSparseCountFingerprint, molecules))
        X = kernel.prepare(as_samples(texts, "molecules").astype(np.float32))
        seconds, K = processor(partial(kernel.block, X, X))
        section.row(name, "mercer", f"{n * n / seconds / 1e6:.0f}", "")
        theirs, wanted = processor(partial(bulk, prints, few), 1)
        apart = np.abs(K[:few] - wanted).max()
        rate = few * n / theirs / 1e6
        section.row(name, "RDKit, BulkTanimotoSimilarity", f"{rate:.2f}", f"{apart:.0e}")
        assert apart < 1e-6
        if name != "Morgan 2":
            continue
        items = [
            [(key, j) for key, count in each.GetNonzeroElements().items() for j in range(count)]
            for each in prints
        ]
        sets = Jaccard().prepare(Jaccard().encode(items).astype(np.float32))
        seconds, J = processor(partial(Jaccard().block, sets, sets))
        rate, apart = n * n / seconds / 1e6, np.abs(J - K).max()
        section.row(name, "mercer, Jaccard of the same elements", f"{rate:.0f}", f"{apart:.0e}")
        folded = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
        bits = list(map(folded.GetFingerprint, molecules))
        theirs, _ = processor(partial(bulk, bits, 200), 1)
        section.row(name, "RDKit, 2,048 bits", f"{200 * n / theirs / 1e6:.1f}", "")
    section.note(note_of("Tanimoto of bits"))


def nearest(folder, section, quick):
    """A million sets of fragments, each the mixture of those of two molecules."""
    texts = pd.read_csv(folder / "Lipophilicity.csv")["smiles"].tolist()
    counts = as_samples(texts, "molecules").counts(Morgan().fingerprint)
    rng = np.random.default_rng(0)
    n = 100_000 if quick else 1_000_000
    rows = rng.integers(0, len(texts), n + 1000)
    X = counts[rows]
    # each molecule loses a third of its fragments at random: no two are equal
    kept = rng.random(len(X.values)) < 2 / 3
    starts = np.concatenate(([0], np.cumsum(kept)))[X.starts]
    X = type(X)(X.values[kept], starts, dtype=np.float32)
    index = BruteForce(Tanimoto()).fit(X[:n])
    began, used = time.perf_counter(), time.process_time()
    index.query(X[n:], 10)
    wall, used = time.perf_counter() - began, time.process_time() - used
    section.row(f"10 nearest of {n:,}, 1,000 queries", f"{wall:.1f} s", f"{used:.1f} s")


def many(folder, section, quick):
    """150,000 molecules, each two of ESOL or FreeSolv that are joined: from SMILES to a model."""
    parts = [
        *pd.read_csv(folder / "ESOL.csv")["smiles"],
        *pd.read_csv(folder / "FreeSolv.csv")["smiles"],
    ]
    n, landmarks = (15_000, 500) if quick else (150_000, 2000)
    rng = np.random.default_rng(0)
    made: list[str] = []
    logp: list[float] = []
    with rdBase.BlockLogs():
        while len(made) < n:
            a, b = rng.integers(0, len(parts), 2)
            mol = Chem.MolFromSmiles(parts[a] + parts[b])
            if mol is not None and 10 <= mol.GetNumHeavyAtoms() <= 40:
                made.append(parts[a] + parts[b])
                logp.append(Crippen.MolLogP(mol))
    y = np.array(logp) > np.median(logp)
    cut = n * 4 // 5
    began, used = time.perf_counter(), time.process_time()
    X = as_samples(made[:cut], "molecules").astype(np.float32)
    read = time.process_time() - used
    model = KernelRidgeClassifier(
        0.1, kernel=Morgan(), rank=landmarks, solver="low_rank", random_state=0
    ).fit(X, y[:cut])
    wall, used = time.perf_counter() - began, time.process_time() - used
    accuracy = np.mean(model.predict(made[cut:]) == y[cut:])
    name = f"{cut:,} molecules, {landmarks:,} landmarks"
    section.row(name, f"{wall:.0f} s", f"{used:.0f} s")
    section.note(
        f"{name}: {read:.0f} s of the processor to read the SMILES; {accuracy:.3f} of {n - cut:,} "
        "other molecules right (logP above its median)"
    )


def peers_of(train, test, y, classes):
    """Name -> predictions, numbers or probabilities of the second class."""
    counts = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    both = [[Chem.MolFromSmiles(text) for text in part] for part in (train, test)]
    folded = [np.array([counts.GetCountFingerprintAsNumPy(m) for m in part]) for part in both]
    measured = [
        np.nan_to_num(
            np.array([list(OfRDKit.CalcMolDescriptors(m, silent=True).values()) for m in part]),
            nan=0.0, posinf=0.0, neginf=0.0,
        ).clip(-1e6, 1e6)
        for part in both
    ]  # fmt: skip
    forest = RandomForestClassifier if classes else RandomForestRegressor
    models = {
        "random forest, Morgan 2 counts": (forest(100, random_state=0), *folded),
        "random forest, 217 descriptors": (forest(100, random_state=0), *measured),
    }
    if find_spec("lightgbm"):
        import lightgbm

        boosting = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        models["LightGBM, 217 descriptors"] = (boosting(verbose=-1, random_state=0), *measured)
    if find_spec("skfp"):
        from skfp.distances import bulk_tanimoto_count_similarity
        from skfp.fingerprints import ECFPFingerprint

        prints = [ECFPFingerprint(count=True).transform(part) for part in (train, test)]
        grams = [bulk_tanimoto_count_similarity(part, prints[0]) for part in prints]
        machine = SVC(kernel="precomputed") if classes else SVR(kernel="precomputed")
        score = "roc_auc" if classes else "neg_root_mean_squared_error"
        search = GridSearchCV(machine, {"C": [1, 10, 100]}, scoring=score, cv=5)
        models["support vectors, scikit-fingerprints"] = (search, *grams)
    found = {}
    for name, (model, A, B) in models.items():
        model.fit(A, y)
        if not classes:
            found[name] = model.predict(B)
        elif hasattr(model, "predict_proba"):
            found[name] = model.predict_proba(B)[:, 1]
        else:
            found[name] = model.decision_function(B)
    return found


def properties(folder, section, quick, only):
    for name, (file, column, target, classes) in TABLES.items():
        if only and name not in only:
            continue
        table = pd.read_csv(folder / file)[[column, target]].dropna()
        with rdBase.BlockLogs():
            read = table[column].map(lambda text: Chem.MolFromSmiles(text) is not None)
        table = table[read].reset_index(drop=True)
        y = table[target].to_numpy()
        mols = list(map(Chem.MolFromSmiles, table[column]))
        scaffolds = [MurckoScaffold.MurckoScaffoldSmiles(mol=mol) for mol in mols]
        for how, cut in (
            ("random", ShuffleSplit(SPLITS, test_size=HELD, random_state=0)),
            ("scaffold", GroupShuffleSplit(SPLITS, test_size=HELD, random_state=0)),
        ):
            scores: dict[str, list[float]] = {}
            for train, test in cut.split(table, groups=scaffolds):
                fitted = KernelClassifier if classes else KernelRegressor
                metric = {"metric": "roc_auc"} if classes else {}
                model = fitted(time=5 if quick else TIME, random_state=0, **metric)
                X = table[[column]]
                groups = {"groups": "scaffold"} if how == "scaffold" else {}
                model.fit(X.iloc[train], y[train], **groups)
                own = model.predict_proba(X.iloc[test])[:, 1] if classes else (
                    model.predict(X.iloc[test]))  # fmt: skip
                texts = table[column].to_numpy()
                others = peers_of(texts[train].tolist(), texts[test].tolist(), y[train], classes)
                for machine, predicted in {"mercer": own, **others}.items():
                    value = roc_auc_score(y[test], predicted) if classes else (
                        np.sqrt(np.mean((predicted - y[test]) ** 2)))  # fmt: skip
                    scores.setdefault(machine, []).append(float(value))
            for machine, values in scores.items():
                metric, each = "AUC" if classes else "RMSE", " ".join(f"{v:.3f}" for v in values)
                section.row(f"{name}, {how}", machine, metric, f"{np.mean(values):.3f}", each)


def main() -> None:
    args = options(("--part", {"default": ""}), ("--table", {"nargs": "*", "default": []}))
    folder = data_folder()
    for name, measure, title, columns in (
        ("chem_pairs", pairs,
         "Tanimoto of counted fragments: pairs of 4,000 molecules of Lipophilicity on one core, "
         "millions in a second of the processor, from prepared samples in float32.",
         ["fragments", "program", "10⁶ pairs/s", "largest difference"]),
        ("chem_large", lambda *given: (nearest(*given), many(*given)),
         "Many molecules: counts of Morgan's fragments of Lipophilicity, of which each molecule "
         "lacks a third at random; and molecules of ESOL and FreeSolv that are joined.",
         ["task", "time", "processor"]),
        ("chem_properties", lambda *given: properties(*given, args.table),
         f"Properties from SMILES alone, `KernelRegressor(time={TIME})` and "
         f"`KernelClassifier(time={TIME})`, beside models with parameters that are usual; mean of "
         f"{SPLITS} splits.",
         ["table and split", "model", "metric", "mean", "each"]),
    ):  # fmt: skip
        if args.part not in ("", name):
            continue
        section = Section(name, title, columns)
        if folder is None:
            section.note("left out: set MERCER_DATA to the folder of the data")
        else:
            measure(folder / "molecules", section, args.quick)
        for package in ("rdkit", "lightgbm", "scikit-fingerprints"):
            if name != "chem_large" and (found := installed(package)):
                section.note(f"{package} {found}")
        section.finish(args.write)


def installed(package: str) -> str:
    """The version of a package, "" without it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
