"""Where the tokens of a pair of texts are when each text is tokenised alone."""

from __future__ import annotations

from .encoding import Encoding


def pair_positions(pair: Encoding, alone: Encoding, text: int) -> dict[int, int]:
    """Position in the pair -> position in one of its texts alone (`text`: 0 or 1), for the tokens that both have.

    The text's own tokens are there in their order, and so are the template tokens right behind them; those in front of
    the pair are in front of either text. Nothing is there where the text alone is cut elsewhere or reads otherwise.
    """
    inside = [at for at, special in enumerate(pair.special) if not special and pair.segments[at] == text]
    inside_alone = [at for at, special in enumerate(alone.special) if not special]
    if _ids(pair, inside) != _ids(alone, inside_alone):
        return {}
    places = dict(zip(inside, inside_alone, strict=True))
    starts = [(0, 0)] if not inside else [(0, 0), (inside[-1] + 1, inside_alone[-1] + 1)]
    for at, at_alone in starts:
        while at < len(pair) and at_alone < len(alone) and _same_template_token(pair, at, alone, at_alone):
            places[at] = at_alone
            at, at_alone = at + 1, at_alone + 1
    return places


def _ids(encoding: Encoding, positions: list[int]) -> list[int]:
    return [encoding.input_ids[at] for at in positions]


def _same_template_token(pair: Encoding, at: int, alone: Encoding, at_alone: int) -> bool:
    return pair.special[at] and alone.special[at_alone] and pair.input_ids[at] == alone.input_ids[at_alone]
