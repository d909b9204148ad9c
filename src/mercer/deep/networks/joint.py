"""A network and the numbers of a process on its codes, trained together by likelihood.

This file is read where torch is installed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mercer.deep.learning_rate import one_cycle
from mercer.deep.networks.blocks import NeuralKernelNetwork
from mercer.deep.networks.process import LinAlgError, Numbers, RadialProcess, Seen
from mercer.threads import raise_if_stopped

BATCH = 256  # rows whose likelihood is exact in a step
PASSES, FEWEST = 20, 200  # over all rows, and steps
RATES = (1e-3, 1e-2)  # highest ones, of the network and of the numbers


def learn_jointly(
    network: NeuralKernelNetwork, process: RadialProcess, rows: Seen, centre: Tensor,
    spread: Tensor, rng: np.random.RandomState,
) -> None:  # fmt: skip
    """Change the network: ascend the likelihood of random batches, for rows whose x are inputs of
    the network and whose codes are measured from a centre in units of a spread."""
    n = len(rows.x)
    steps = max(FEWEST, PASSES * math.ceil(n / BATCH))
    free = [t.detach().clone().requires_grad_() for t in process.numbers]
    learnt = [p for p in network.parameters() if p.requires_grad]
    groups = [{"params": part, "lr": rate} for part, rate in zip((learnt, free), RATES)]
    adam = torch.optim.Adam(groups)
    dtype = network.head.weight.dtype
    for step in range(1, steps + 1):
        raise_if_stopped()
        chosen = torch.from_numpy(rng.permutation(n)[:BATCH]).to(rows.x.device)
        part = rows.part(chosen)
        for group, rate in zip(adam.param_groups, RATES):
            group["lr"] = rate * one_cycle(step / steps)
        adam.zero_grad(set_to_none=True)
        codes = (network.code(part.x.to(dtype)).double() - centre) / spread
        at = replace(process, numbers=Numbers(*free))
        try:
            loss = -at.log_likelihood(part._replace(x=codes)) / len(chosen)
        except LinAlgError:
            return
        loss.backward()
        adam.step()
