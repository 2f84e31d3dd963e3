"""`parity_steps`: the first step of another program's run that is not this model's, by a dump of its inner tensors.

The model reads the text once, and wherever a module is entered or left, what the other program has there stands in
place of its own: each step is recomputed from the other's own input, so that no difference adds up.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from ..base.amounts import amount
from ..base.dataframes import pd
from ..base.paths import as_path
from ..errors import InputError, check_lens
from ..lens import Lens
from ..model.loan import Loan
from . import forward_faults, rounding_faults
from .hypothesis import Hook, PassChange, Row
from .scoring import UNCALLED
from .states import NOTHING, Runner
from .text_faults import Reader
from .vector_array import npz_arrays

INPUT = ".input"
TIMES = 20  # of the median of the same step over layers
LEAST = 1e-6  # relative: what a float32 step may differ by
LARGE = 1e-5  # relative: the median of a step that differs in every layer
CLOSE = 10  # times the error of the best hypothesis: what fits as well
EPS = torch.finfo(torch.float32).eps
LAYER = r"(?:layers?|blocks?|h)\.(\d+)\."
FEW = 3  # layers below which a step has no median to be held against; products that are no pattern


@dataclass(frozen=True, eq=False)
class Steps:
    """What `parity_steps` found. Prints as its sentence.

    table: DataFrame(layer, step, error, times), a row a step in the order of the run: the layer from 0 (−1 outside
    them), its module's path, with “what enters” where that lies between modules, ‖y − f(x)‖ / ‖y‖ with x and y the
    other program's, and that by the median of the step over layers. first: the row that differs, −1 for none. fits:
    the hypotheses that explain that step. is_all_products: whether all products with weights differ, and nothing else.
    """

    table: pd.DataFrame
    first: int
    fits: tuple[str, ...]
    is_all_products: bool
    lens: Lens
    text: str  # with its prompt

    @property
    def said(self) -> str:
        """The first step that differs, and what explains it."""
        n = len(self.table)
        if self.first < 0:
            return f"None of {amount(n, 'step')} differs from this model's (worst {self.table['error'].max():.1e})."
        explained = f" It fits: {', '.join(self.fits)}." if self.fits else " No hypothesis of that step fits."
        if self.is_all_products:
            return f"Every product with weights is rounded, and nothing else of {n:,} steps differs.{explained}"
        row = self.table.iloc[self.first]
        times = f", {row['times']:.3g} times the same step in the median layer" if row["times"] > TIMES else ""
        by = f"by {row['error']:.1e}{times}" if math.isfinite(row["error"]) else "it holds what is no number"
        return f"The first of {amount(n, 'step')} that differs is {self.step} ({by}).{explained}"

    @property
    def step(self) -> str:
        """The first step that differs and where it stands; "" for none."""
        if self.first < 0:
            return ""
        place = f"in layer {self.layer}" if self.layer >= 0 else "outside the layers"
        return f"{self.table['step'][self.first]} {place}"

    @property
    def layer(self) -> int:
        """That of the first step that differs, from 0; −1 for none, and outside the layers."""
        return int(self.table["layer"][self.first]) if self.first >= 0 else -1

    def explore(self, **selection: Any) -> Any:
        """The text in the Explorer, at the layer of the first step that differs. selection: as of `Trace.explore`."""
        at_step = {"layer": self.layer} if self.layer >= 0 else {}
        return self.lens.trace(self.text, truncation=True).explore(**at_step | selection)

    def __repr__(self) -> str:
        return self.said


def parity_steps(lens: Lens, text: str, dump: Any, names: Mapping[str, str] | None = None) -> Steps:
    """Where another program's run of a text leaves this model's: the first step that differs, and what explains it.

    text: as the lens encodes it, with its prompt. dump: the other's inner tensors: the folder that transformers'
    `model_addition_debugger_context(model, folder, use_repr=False)` has written, a .safetensors or .npz file, or
    {name: array}. A tensor has the name of the module of this model that it comes out of, such as
    "encoder.layer.0.output.dense", that and ".input" for what goes in, or the name of an ONNX node of the old exporter.
    names: {this: the dump's} for others. Tensors that the dump has not are recomputed.

    Raises InputError for a dump without a tensor of this model and this text, ModelError where the model cannot be run.
    """
    check_lens(lens)
    runner = Runner(lens, Reader(lens))
    row = Row(runner.reader.right(text))
    modules = _steps(runner, row)
    dumped = _named(tensors_of(dump), names or {}, modules)
    if not dumped:
        raise InputError("the dump has no tensor by a name of this model's modules: give names={this: the dump's}")
    errors = _forced(runner, row, modules, dumped, NOTHING)
    if not errors:
        raise InputError("no tensor of the dump is met in this model's run")
    precisions = [torch.finfo(t.dtype).eps for t in dumped.values() if t.is_floating_point()]
    floor = LEAST * max([EPS, *precisions]) / EPS
    table = _table(errors, floor)
    products = np.array([type(modules[name]) is nn.Linear and not is_input for name, is_input in errors])
    first, is_all_products = _first(table, products, floor)
    key = list(errors)[first]
    if first < 0 or not math.isfinite(errors[key]):  # nothing to explain, or nothing explains it
        return Steps(table, first, (), False, lens, runner.reader.prompt + text)
    fits = []
    for fault in (*forward_faults.FAULTS, *rounding_faults.FAULTS):
        try:
            change = fault.way(runner.parts)
            if change is None or change.row:
                continue
            error = _forced(runner, row, modules, dumped, change).get(key, np.inf)
        except UNCALLED:
            continue
        if error <= max(floor, errors[key] / TIMES):
            fits.append((error, fault.name))
    nearest = [name for error, name in sorted(fits) if error <= CLOSE * min(fits)[0] + floor]
    return Steps(table, first, tuple(nearest), is_all_products, lens, runner.reader.prompt + text)


def _steps(runner: Runner, row: Row) -> dict[str, nn.Module]:
    """The modules without others in them by name, but those that do nothing, and those that run twice for a text, such
    as ALBERT's: a dump has the last time alone."""
    leaves = [(name, m) for name, m in runner.parts.base.named_modules() if name and not [*m.children()]]
    calls: Counter[nn.Module] = Counter()
    hooks = tuple(Hook(m, True, lambda module, arguments: calls.update([module])) for _, m in leaves)
    runner.run([row], PassChange(hooks=hooks), 1)
    return {name: m for name, m in leaves if calls[m] == 1 and not isinstance(m, nn.Dropout | nn.Identity)}


def _forced(
    runner: Runner, row: Row, modules: Mapping[str, nn.Module], dumped: Mapping[str, Tensor], change: PassChange
) -> dict[tuple[str, bool], float]:
    """(module, whether what enters it) -> relative error, in the order of the run."""
    errors: dict[tuple[str, bool], float] = {}

    def met(name: str, is_input: bool, ours: Any) -> Any:
        theirs = dumped.get(name + INPUT * is_input)
        if theirs is None or not isinstance(ours, Tensor):
            return ours
        if theirs.numel() != ours.numel():
            shapes = f"{tuple(theirs.shape)} in the dump and {tuple(ours.shape)} here"
            raise InputError(f"{name} is {shapes}: is the dump of this text, alone?")
        theirs = theirs.reshape(ours.shape)
        wide = theirs.double()
        error = float((ours.detach().double().cpu() - wide).norm() / wide.norm().clamp_min(1e-30))
        errors[name, is_input] = error if math.isfinite(error) else math.inf  # what is no number differs from any
        return theirs.to(ours)

    def before(name: str) -> Callable[..., Any]:
        return lambda module, arguments: (met(name, True, arguments[0]), *arguments[1:]) if arguments else None

    def after(name: str) -> Callable[..., Any]:
        return lambda module, arguments, output: met(name, False, output)

    with runner.lens.borrowed.locked(), Loan() as loan:
        for name, module in modules.items():
            loan.hook(module.register_forward_pre_hook(before(name)))
        # a fault's own hooks stand between these two, and each sees what the other program has
        behind = tuple(Hook(module, False, after(name)) for name, module in modules.items())
        runner.run([row], replace(change, hooks=(*change.hooks, *behind)), 1)
    return errors


def _table(errors: Mapping[tuple[str, bool], float], floor: float) -> pd.DataFrame:
    layers = [re.search(LAYER, name) for name, _ in errors]
    table = pd.DataFrame(
        {
            "layer": [int(match[1]) if match else -1 for match in layers],
            "step": [f"what enters {_short(name)}" if is_input else _short(name) for name, is_input in errors],
            "error": list(errors.values()),
        }
    )
    inside = table["layer"] >= 0
    medians = table[inside].groupby("step")["error"].transform("median").clip(lower=floor / TIMES)
    is_rare = table[inside].groupby("step")["error"].transform("size") < FEW
    return table.assign(times=(table["error"][inside] / medians).mask(is_rare))


def _short(name: str) -> str:
    """A module's path without the layer's number."""
    return re.sub(f"^.*?{LAYER}", "", name)


def _first(table: pd.DataFrame, products: np.ndarray, floor: float) -> tuple[int, bool]:
    """The row of the first step that differs, −1 for none, and whether all products with weights differ, alone."""
    inside = (table["layer"] >= 0).to_numpy()
    medians = table.groupby("step")["error"].transform("median").to_numpy()
    error, large = table["error"].to_numpy(), LARGE * floor / LEAST
    is_everywhere = medians > large
    of_products = is_everywhere[products & inside]
    if len(of_products) >= FEW and of_products.all() and not (error > large)[~products & inside].any():
        return int(np.flatnonzero(products & inside)[0]), True
    limits = np.where(is_everywhere | table["times"].isna().to_numpy(), large, np.maximum(floor, TIMES * medians))
    differing = np.flatnonzero(error > limits)
    return (int(differing[0]) if len(differing) else -1), False


def tensors_of(dump: Any) -> dict[str, Tensor]:
    """What a dump holds, by its own names."""
    if isinstance(dump, Mapping):
        return {str(name): torch.as_tensor(array, device="cpu") for name, array in dump.items()}
    path = as_path(dump)
    try:
        if path.is_dir():
            files = sorted(path.rglob("*.safetensors"))
            return {_of_debugger(file.stem): next(iter(load_file(file).values())) for file in files}
        if path.suffix == ".npz":
            return {name: torch.from_numpy(array) for name, array in npz_arrays(path).items()}
        return load_file(path)
    except Exception as error:  # noqa: BLE001  a damaged file raises whatever its decoder stumbles on
        raise InputError(f"{path} holds no tensors that can be read ({' '.join(str(error).split())[:120]})") from None


def _of_debugger(stem: str) -> str:
    """The name of a tensor in the folder of transformers' debugger, such as “BertModel.pooler.dense_inputs_args_0”."""
    for tail, suffix in (("_inputs_args_0", INPUT), ("_outputs", "")):
        if stem.endswith(tail):
            return stem.removesuffix(tail) + suffix
    return ""


def _named(tensors: dict[str, Tensor], names: Mapping[str, str], modules: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The tensors by the names of this model's modules; of several of one module the last, as ONNX has them."""
    dumped: dict[str, Tensor] = {}
    for theirs, tensor in tensors.items():
        path = ".".join(theirs.split("/")[1:-1]) if theirs.startswith("/") else theirs
        suffix = INPUT * path.endswith(INPUT)
        path = path.removesuffix(INPUT)
        module_name = max((name for name in modules if f".{path}".endswith(f".{name}")), key=len, default=None)
        if module_name is not None:
            dumped[module_name + suffix] = tensor
    for module_name, theirs in names.items():
        if module_name.removesuffix(INPUT) not in modules or theirs not in tensors:
            raise InputError(
                f"names= has {module_name!r}: {theirs!r}: the first is a module of this model, the second in the dump"
            )
        dumped[module_name] = tensors[theirs]
    return {name: tensor.detach().cpu() for name, tensor in dumped.items()}
