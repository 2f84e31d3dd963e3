"""The walk over a model's modules and tensors is torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import transformers as tf
from torch import nn

from bertlens.model.modules import modules_by_name, tensors_by_name
from unit import tiny


def shared() -> nn.Module:
    """Modules and weights in several places, a place that is empty, a buffer."""
    one = nn.Linear(2, 2)
    model = nn.Sequential(nn.Sequential(nn.BatchNorm1d(2), one), one, nn.Module())
    model[2].tied = model[0][1].weight
    model[2].none = None
    model[2].register_parameter("absent", None)
    return model


@pytest.mark.parametrize("model", [tiny.bert, lambda: tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)), shared])
def test_names_and_order_are_those_of_torch(model: Any) -> None:
    root = model()
    modules, tensors = modules_by_name(root), tensors_by_name(root)
    assert list(modules.items()) == list(root.named_modules())
    assert list(tensors) == list(dict(root.named_parameters()) | dict(root.named_buffers()))
    assert all(tensor is tensors[name] for name, tensor in (*root.named_parameters(), *root.named_buffers()))
    assert list(tensors_by_name(root, ("_parameters",))) == list(dict(root.named_parameters()))
