"""Where the models that are measured lie, and how time and memory are counted there.

The variable BERTLENS_BENCH_DEVICE names it (python -m benchmarks --device); the processes of the groups inherit it.
"""

from __future__ import annotations

import os
import resource
import time

import torch

NAME = "BERTLENS_BENCH_DEVICE"
DEVICE = torch.device(os.environ.get(NAME, "cpu"))
IS_CPU = DEVICE.type == "cpu"
# Groups whose models can lie elsewhere; the others measure pages, hosts and imports
GROUPS = ("trace", "norms", "gates", "length", "sources", "whatif", "compare", "survey")


def missing(name: str) -> str:
    """Why nothing can be measured on a device, "" where it can."""
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        return f"no device {name!r} here: {str(error).splitlines()[0]}"
    return ""


def about(name: str) -> str:
    """What the device is."""
    return torch.cuda.get_device_name(name) if name.startswith("cuda") else name


def seconds() -> float:
    """CPU seconds of this process; on another device the wall's, with all done that was asked for."""
    if IS_CPU:
        return time.process_time()
    torch.get_device_module(DEVICE).synchronize()
    return time.perf_counter()


def most_held() -> float:
    """The most bytes that were held at a time since the start: by this process, or of the device's memory."""
    if DEVICE.type == "cuda":
        return float(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
