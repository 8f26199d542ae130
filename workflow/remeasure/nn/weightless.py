"""Models without memory for their numbers: for their sizes, and for the shapes that they make."""

from __future__ import annotations

import math
from typing import Any

from torch.overrides import TorchFunctionMode


class Weightless(TorchFunctionMode):
    """New tensors of some size have no memory, and nothing is drawn into any.

    The library can build on its meta device itself, but computes first values there with rules
    of its compiler, which takes longer to load than all models to build.
    """

    _MADE = frozenset({"empty", "zeros", "ones", "randn"})
    _FILLED = frozenset(
        {"normal_", "uniform_", "trunc_normal_", "kaiming_uniform_", "xavier_uniform_"}
        | {"constant_", "ones_", "zeros_", "fill_", "zero_", "copy_"}
    )
    #: Numbers of a tensor that is still made: models compute with such before they are built.
    _SMALL = 1 << 15

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name, told = getattr(func, "__name__", ""), dict(kwargs or {})
        if name in self._FILLED:
            return args[0] if args else told["tensor"]
        if name in self._MADE and args:
            size = args if isinstance(args[0], int) else args[0]
            if math.prod(size) > self._SMALL:
                told["device"] = "meta"
        return func(*args, **told)
