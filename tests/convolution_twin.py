"""The features of MiniRocket, MultiRocket and Hydra, as papers define them: slow and readable."""

from itertools import combinations

import numpy as np

#: the taps with the weight 2 of the 84 kernels
CHOSEN = list(combinations(range(9), 3))


def shifted(x, steps):
    """x at the places t + steps, and 0 beyond its ends."""
    at = np.arange(len(x)) + steps
    return np.where((at >= 0) & (at < len(x)), x[np.clip(at, 0, len(x) - 1)], x.dtype.type(0))


def response(x, weights, dilation):
    """The convolution of one channel with a kernel of nine taps."""
    return sum(w * shifted(x, (j - 4) * dilation) for j, w in enumerate(weights))


def fixed_response(series, kernel, dilation, channels):
    """The response of a series (T, d) to one of the 84 kernels, summed over channels.

    Weights 2 and -1 are three times the chosen taps minus all. Sums are in the order of the loop,
    because biases are responses, and an equal response does not exceed them.
    """
    total = 0.0
    for c in channels:
        taps = [shifted(series[:, c], (j - 4) * dilation) for j in range(9)]
        a, b, d = (taps[j] for j in CHOSEN[kernel])
        thirds = [taps[j] + taps[j + 1] + taps[j + 2] for j in (0, 3, 6)]
        total = total + (3 * (a + b + d) - (thirds[0] + thirds[1] + thirds[2]))
    return total


def longest_run(above):
    """How many places in a row are true, at most."""
    return max((len(run) for run in "".join("01"[int(a)] for a in above).split("0")), default=0)


def pooled(z, bias):
    """The share of places above the bias, their mean excess, mean place and longest run."""
    above = z > bias
    if not above.any():
        return 0.0, 0.0, 0.0, 0.0
    share, places = above.mean(), np.flatnonzero(above)
    return share, (z - bias)[above].mean(), places.mean() / len(z), longest_run(above) / len(z)


def fixed_features(series, plan):
    """All features of one series (T, d), by a `FixedConvolutions`."""
    found = [[] for _ in range(plan.pools)]
    for k in range(84 * len(plan.dilations)):
        at, kernel = divmod(k, 84)
        d = int(plan.dilations[at])
        own = slice(*plan.channel_starts[k : k + 2])
        z = fixed_response(series, kernel, d, plan.channels[own])
        if (at + kernel) % 2 and len(z) > 8 * d:
            z = z[4 * d : len(z) - 4 * d]
        biases = plan.biases[slice(*plan.bias_starts[k : k + 2])]
        if plan.pools == 1:
            found[0].extend((z[:, None] > biases).mean(axis=0))
            continue
        for bias in biases:
            for numbers, number in zip(found, pooled(z, bias)):
                numbers.append(number)
    return np.concatenate(found)


def competing_features(series, plan):
    """All sums and counts of one series (T, d), by a `CompetingConvolutions`."""
    groups, found = len(plan.weights) // len(plan.dilations), []
    for k, weights in enumerate(plan.weights.reshape(-1, 8, 9)):
        d = int(plan.dilations[k // groups])
        x = sum(series[:, c] for c in plan.channels[slice(*plan.channel_starts[k : k + 2])])
        Z = np.array([response(x, w, d) for w in weights])
        most, least = Z.argmax(axis=0), Z.argmin(axis=0)
        found += [Z.max(axis=0)[most == q].sum() / len(x) for q in range(8)]
        found += [(least == q).mean() for q in range(8)]
    return np.array(found)


def hydra_features(X, plan):
    """The scaled features of the training series (T, d) of a `ScaledCounts`."""
    F = np.array([
        np.concatenate([competing_features(x, plan.counts.of_points),
                        competing_features(steps(x), plan.counts.of_steps)]) for x in X
    ])  # fmt: skip
    S = np.sqrt(np.maximum(F, 0))
    spread = S.std(axis=0) + (S == 0).mean(axis=0) ** 4
    spread[spread <= 1e-13] = 1
    return np.where(S > 0, (S - S.mean(axis=0)) / spread, 0)


def steps(x):
    """The steps between the points of a series; one of 0 if it has one point."""
    return np.diff(x, axis=0) if len(x) > 1 else np.zeros_like(x)


def kernel_features(X, shares, counts):
    """The features of the kernel on its training series, each of length 1."""
    F = np.array([fixed_features(x, shares) for x in X])
    spread = F.std(axis=0)
    F = (F - F.mean(axis=0)) * np.divide(1, spread, out=np.zeros_like(spread), where=spread > 1e-13)
    F = np.hstack([F, hydra_features(X, counts)])
    norms = np.linalg.norm(F, axis=1, keepdims=True)
    return np.divide(F, norms, out=np.zeros_like(F), where=norms > 0)
