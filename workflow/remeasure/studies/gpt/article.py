"""The article's own settings, as its notebook has them: what every row of kind "setting" names.

`config/public.yaml` runs at these; smaller runs say in their notes how far they are from them.
Nothing here is a result.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: Seed of python, numpy and torch, of the split, the positions, the windows and the weights.
SEED: Final = 42


class Sizes(NamedTuple):
    """Sizes of a model as its configuration gives them."""

    layers: int
    width: int
    heads: int
    context: int
    vocabulary: int


#: The five models whose parameters are counted, by their names on the hub.
FAMILY: Final[dict[str, Sizes]] = {
    "openai-gpt": Sizes(12, 768, 12, 512, 40_478),
    "gpt2": Sizes(12, 768, 12, 1024, 50_257),
    "gpt2-medium": Sizes(24, 1024, 16, 1024, 50_257),
    "gpt2-large": Sizes(36, 1280, 20, 1024, 50_257),
    "gpt2-xl": Sizes(48, 1600, 25, 1024, 50_257),
}

#: Layers and width of the models whose caches are counted.
CACHES: Final = {"GPT-2": (12, 768), "GPT-2 XL": (48, 1600), "GPT-3": (96, 12_288)}
CACHED_TOKENS: Final = 2048

#: The chess model, and Karvonen's, whose context is one character short of a power of two.
CHESS: Final = Sizes(8, 512, 8, 512, 32)
KARVONEN_CONTEXT: Final = 1023

#: Spread of initial weights.
SPREAD: Final = 0.02

# Training.
STEPS: Final = 3400
BATCH: Final = 64
RATE: Final = 1e-3
WARM_UP: Final = 300
FLOOR: Final = 0.1
BETAS: Final = (0.9, 0.95)
DECAY: Final = 0.1
CLIP: Final = 1.0
TEST_EVERY: Final = 500
MONITORED: Final = 200

# Data and positions.
CLASSES: Final = ("Blitz", "Rapid", "Classical")
MINIMUM_RATING: Final = 1800
MINIMUM_SPACES: Final = 10
HELD_OUT: Final = 4000
POSITIONS: Final = 1000
LARGEST: Final = 70
#: Room that a prompt leaves for the answer.
ROOM: Final = 10

# Games against a random mover.
GAMES: Final = 100
HALF_MOVES: Final = 150
TRIES: Final = 5

# Probes.
PROBE_TRAINING_GAMES: Final = 3000
PROBE_TEST_GAMES: Final = 600
PROBE_EPOCHS: Final = 12
PROBE_BATCH: Final = 1024
PROBE_RATE: Final = 3e-3
PROBE_DECAY: Final = 0.01
SQUARES: Final = 64
CLASSES_A_SQUARE: Final = 13

# Texts.
PARITY_TEXT: Final = (
    "In 1997 Deep Blue beat Garry Kasparov, the world chess champion, in a six-game match."
)
ALPHAGO_TEXT: Final = (
    "AlphaGo, a program developed by Google DeepMind, beat Lee Sedol four games to one in Seoul."
)
RUY_LOPEZ: Final = "1. e4 e5 2. Nf3 Nc6 3. Bb5"
TEN_HALF_MOVES: Final = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7"
SAMPLE_PROMPT: Final = "The strangest chess game ever played"
LENS_PROMPTS: Final = {
    "… Deep Blue defeated the world chess champion Garry": (
        "In 1997, IBM's Deep Blue defeated the world chess champion Garry"
    ),
    "… World Chess Championship against Boris": (
        "Bobby Fischer won the 1972 World Chess Championship against Boris"
    ),
}
GREEDY_TOKENS: Final = 40
TIMED_STEPS: Final = 900
TOLERANCE: Final = 1e-2

#: Moves of the shortest win over the random mover, and the half-moves of the example position.
SHORTEST_WIN: Final = ("e4", "f5", "exf5", "a6", "Qh5+", "g6", "fxg6", "Nc6", "g7#")
EXAMPLE: Final = (
    *("d4", "Nf6", "c4", "e6", "Nf3", "d5", "Bg5", "Bb4+", "Nbd2", "dxc4", "Qa4+", "Nc6"),
    *("a3", "Bxd2+", "Nxd2", "Qxd4", "Nxc4", "O-O", "Rd1", "Qc5", "Bxf6"),
)
#: Movetext of nine half-moves of the first game, with its clocks.
FIRST_MOVES: Final = (
    "1. Nc3 { [%clk 0:03:00] } 1... e5 { [%clk 0:03:00] } 2. e4 { [%clk 0:02:59] } "
    "2... Bc5 { [%clk 0:02:59] } 3. Qh5 { [%clk 0:02:57] } 3... Nf6 { [%clk 0:02:58] } "
    "4. Qxe5+ { [%clk 0:02:56] } 4... Be7 { [%clk 0:02:55] } 5. d3 { [%clk 0:02:55] }"
)
