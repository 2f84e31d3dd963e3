"""What docs/answers/wrong_passage.md says of its three texts."""

from __future__ import annotations

import re
from typing import Any

import torch

import bertlens as bl
from unit.test_project import ROOT

PAGE = (ROOT / "docs" / "answers" / "wrong_passage.md").read_text("utf-8")


def test_without_its_word_half_of_the_lead_is_gone_and_the_order_stays(embedded_lens: bl.Lens) -> None:
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], names)
    c = names["c"]
    assert "Here *machine* is named, which the right passage lacks" in PAGE and c.named == "machine"
    wrong, right = names["passages"].values()
    assert "machine" not in right.lower() and "machine" in wrong

    def score(passage: str, hidden: str = "") -> float:
        """Of a passage whose hidden word no token sees: the model's own run."""
        encoded = embedded_lens.tokenizer(passage, return_tensors="pt")
        seen = torch.tensor([[int(word != hidden) for word in encoded.tokens()]])
        with torch.no_grad():
            states = embedded_lens.model(
                input_ids=encoded["input_ids"], attention_mask=seen, token_type_ids=encoded["token_type_ids"]
            ).last_hidden_state[0]
        vectors = [states[seen[0].bool()].double().mean(0), embedded_lens.encode(names["question"]).double()]
        return float(torch.nn.functional.cosine_similarity(*vectors, dim=0))

    lead, left = (score(wrong, hidden) - score(right) for hidden in ("", "machine"))
    assert "half of the lead is gone, and the order\n  stays" in PAGE and 0.45 < left / lead < 0.55
    told = c.without().set_index("draw").loc["named"]
    assert abs(told["difference"] - left) < 1e-4 and not told["turned"]
