"""Where networks are computed: what is asked for, or a message."""

from __future__ import annotations

import pytest
import torch

from remeasure.errors import DataError
from remeasure.nn.device import device_of


@pytest.mark.parametrize("there", [True, False])
def test_devices(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert device_of("cpu").type == "cpu"
    assert device_of("auto").type == ("cuda" if there else "cpu")
    if there:
        assert device_of("cuda").type == "cuda"
    else:
        with pytest.raises(DataError, match="no GPU"):
            device_of("cuda")
