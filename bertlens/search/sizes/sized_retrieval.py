"""What a retrieval says of smaller parts of its model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...base.dataframes import pd
from ...lens import Lens
from ...measures.significance import Sizes
from ..collection import Collection
from ..stages import Stages
from ..two_towers import check_one_model
from .cost import cost
from .dimensions import DRAWS, dimensions
from .layers import layers
from .shares import MEASURE


class SizedRetrieval:
    """The methods of `Retrieval` that tell of layers, dimensions and smaller models."""

    if TYPE_CHECKING:
        lens: Lens
        collection: Collection
        stages: Stages
        query_lens: Lens | None

        def check_model(self, *, whole: bool = False) -> None: ...

        def _check_judged(self) -> None: ...

    def layers(self, *, measure: str = MEASURE, seed: int = 0, batch_size: int = 32, progress: bool = True) -> Sizes:
        """Which layer ranks best? `.table` is a DataFrame(layer, centred, mean, difference, low, high, p, better,
        first_ten, anisotropy), two rows a layer: with its vectors as they are, and less the mean of the passages.

        layer: 0 is the embeddings. Vectors are pooled as the encoder pools, with what stands behind its pooling; the
        norm that a pre-LN family has behind its last layer is applied behind each, and `.said` says so. One pass over
        the texts gives all. mean: of the measure over judged questions, in [0, 1], see `metrics.MEASURES`. difference:
        to the last layer as it is, paired by question; low, high, p: by Holm over all rows
        (`significance.holm_intervals`), NaN of the last layer; better: low is above 0. first_ten: which share of the
        first ten passages is among those of the last layer, mean over questions. anisotropy: the mean cosine of
        different passages (`geometry.anisotropy`, Ethayarajh 2019). `.choice`: the best row of one half of the
        questions, drawn by `seed`, as it is on the other half, where its luck is left behind.

        Raises InputError without judgements, with a query_lens and for a measure that there is not; ModelError where
        the model has changed since it ranked, has no adapter, or makes no single vectors of texts.
        """
        self._check_judged()
        check_one_model(self.query_lens, self.lens, "layers")
        self.check_model(whole=True)
        return layers(self.lens, self.collection, measure=measure, seed=seed, batch_size=batch_size, progress=progress)

    def dimensions(
        self,
        counts: Iterable[int] | None = None,
        *,
        measure: str = MEASURE,
        draws: int = DRAWS,
        seed: int = 0,
        progress: bool = True,
    ) -> Sizes:
        """Would half the dimensions do? `.table` is a DataFrame(dimensions, mean, difference, difference_low,
        difference_high, difference_p, drawn, drawn_least, drawn_most, over_drawn, principal, principal_whole,
        principal_difference) with the ends of each interval, a row for each of `counts`, most first (default: a half, a
        quarter, an eighth, and powers of 2 from 64 on); nothing is run for it.

        dimensions: k. mean: the measure with the first k numbers of each vector, over judged questions, in [0, 1].
        difference, difference_low, difference_high, difference_p: mean less that of all dimensions. drawn, drawn_least,
        drawn_most: the same with k drawn dimensions, the mean of `draws` sets and the range of their means; over_drawn,
        …: the first k less that mean: what a model has that was trained to be cut (Kusupati et al. 2022, Matryoshka).
        principal: with the k principal axes of one half of the passages, on the other half, where all dimensions give
        principal_whole; principal_difference, …: between them; NaN where there are no more passages than axes.
        Intervals and p are paired by question, by Holm over all tests. `.choice`: as of `layers`, of the first k.
        progress: a bar once it has taken two seconds.

        Raises InputError without judgements, and for counts and a measure that there are not; ModelError for a model
        that makes no single vectors of texts.
        """
        self._check_judged()
        stages, collection = self.stages, self.collection
        return dimensions(stages, collection, counts, measure=measure, draws=draws, seed=seed, progress=progress)

    def cost(
        self, smaller: Lens, *, measure: str = MEASURE, batch_size: int = 32, progress: bool = True
    ) -> pd.DataFrame:
        """What a smaller model saves and costs: DataFrame(model, layers, dimensions, parameters, megabytes,
        milliseconds, mean, difference, low, high), a row for the model that ranked and one for `smaller`, such as
        `lens.prune(layers=4)`.

        megabytes: of its parameters and buffers, as they are in memory. milliseconds: of a passage, the median of runs
        in turn over some of them, on this machine now. mean: the measure over judged questions; difference, low, high:
        to the model that ranked, with the 95 % interval over questions.

        Raises InputError without judgements, with a query_lens and for a measure that there is not; ModelError where
        the model has changed since it ranked, and for one that makes no single vectors of texts.
        """
        self._check_judged()
        check_one_model(self.query_lens, self.lens, "cost")
        self.check_model()
        return cost(
            self.lens,
            smaller,
            self.stages,
            self.collection,
            measure=measure,
            batch_size=batch_size,
            progress=progress,
        )
