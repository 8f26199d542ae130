"""Settings of the vit study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from remeasure.fetch.settings import Checkpoint, DataFiles
from remeasure.model import Model

Origin = Literal["generated", "files", "mirror", "public"]
Device = Literal["auto", "cpu", "cuda"]


class GeneratorSettings(Model):
    """Generated textures.

    Attributes
    ----------
    seed
        Of the set.
    most
        Training tiles of the largest class; the smallest has three quarters of it.
    tests
        Test tiles of each class.
    noise
        Deviation of the noise of a pixel; that of a pattern lies in 0.5 to 1.
    """

    seed: int = Field(ge=0)
    most: int = Field(ge=8, le=20_000)
    tests: int = Field(ge=2, le=5_000)
    noise: float = Field(ge=0, le=5)


class TilesSettings(Model):
    """Tiles of ten classes.

    Attributes
    ----------
    origin
        Where from.
    generator
        Origin ``generated``.
    path
        Origin ``files``: a zip or a folder of class folders.
    test_per_class
        Origin ``files``: how many tiles of each class are for testing.
    dataset
        Origins ``mirror`` and ``public``: the published training and test splits.
    """

    origin: Origin
    generator: GeneratorSettings
    path: str | None
    test_per_class: int = Field(ge=1)
    dataset: DataFiles


class PackagePhotos(Model):
    """Photographs that an installed distribution ships."""

    distribution: str
    version: str
    files: tuple[str, ...] = Field(min_length=1)


class PhotosSettings(Model):
    """Photographs to look at.

    Attributes
    ----------
    origin
        ``package`` takes ``package``; ``files`` the article's five out of ``folder``; ``mirror``
        and ``public`` those five from where they are published.
    """

    origin: Literal["package", "files", "mirror", "public"]
    folder: str | None
    package: PackagePhotos


class HubSettings(Model):
    """Published weights: null leaves out what needs them."""

    vit: Checkpoint | None
    body: Checkpoint | None
    dino: Checkpoint | None
    dinov2: Checkpoint | None


class BackboneSettings(Model):
    """A real network out of a package, none of the publication's: another pretrained learner.

    Attributes
    ----------
    use
        Whether it races; the package must be installed then.
    distribution, version, file
        The package at the registry, and its file of EfficientNet-Lite0's weights.
    side
        Pixels to which tiles are brought for it.
    batch
        Tiles in one pass.
    """

    use: bool
    distribution: str
    version: str
    file: str
    side: int = Field(ge=32, le=512)
    batch: int = Field(ge=1)


class Length(Model):
    """How long to train on n tiles: ``max(least, floor(passes n / batch))`` steps of a batch."""

    batch: int = Field(ge=1)
    least: int = Field(ge=20)
    passes: int = Field(ge=0)

    def steps(self, tiles: int) -> int:
        """Updates of the weights for so many training tiles."""
        return max(self.least, self.passes * tiles // self.batch)


class SmallSettings(Model):
    """The two nets trained from scratch.

    Attributes
    ----------
    side
        Pixels to which tiles are brought.
    patch, width, layers, heads
        Of the small ViT; its blocks are four times as wide inside.
    cnn_width
        Channels of the CNN's first stage.
    vit_rate, cnn_rate
        Largest learning rates.
    length
        Of both trainings.
    """

    side: int = Field(ge=16)
    patch: int = Field(ge=2)
    width: int = Field(ge=4)
    layers: int = Field(ge=1)
    heads: int = Field(ge=1)
    cnn_width: int = Field(ge=1)
    vit_rate: float = Field(gt=0)
    cnn_rate: float = Field(gt=0)
    length: Length

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.side % self.patch or self.side % 16:
            raise ValueError(f"side ({self.side}) must be a multiple of patch and of 16")
        if self.width % self.heads:
            raise ValueError(f"width ({self.width}) must be a multiple of heads ({self.heads})")
        return self


class TunedSettings(Model):
    """The pretrained ViT, all weights trained: its largest rate and its length."""

    rate: float = Field(gt=0)
    length: Length


class ProbeSettings(Model):
    """A linear map of frozen features: rate, decay and steps of AdamW; images in one pass."""

    rate: float = Field(gt=0)
    decay: float = Field(ge=0)
    steps: int = Field(ge=1)
    batch: int = Field(ge=1)


class RaceSettings(Model):
    """Learners against budgets.

    Attributes
    ----------
    budgets
        Labels a class, ascending.
    seeds
        Trainings of each learner and budget.
    test_per_class
        Test tiles of each class that are scored; null: all.
    device, threads
        Where to compute; of the processor.
    save_every
        Steps between two checkpoints, from which a killed training goes on.
    small, tuned, probe
        The learners.
    """

    budgets: tuple[int, ...] = Field(min_length=1)
    seeds: int = Field(ge=1, le=20)
    test_per_class: int | None = Field(ge=1)
    device: Device
    threads: int = Field(ge=1)
    save_every: int = Field(ge=0)
    small: SmallSettings
    tuned: TunedSettings
    probe: ProbeSettings

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if any(budget < 1 for budget in self.budgets):
            raise ValueError("a budget has at least one label a class")
        if list(self.budgets) != sorted(set(self.budgets)):
            raise ValueError(f"budgets must ascend and not repeat, not {list(self.budgets)}")
        return self


class Settings(Model):
    """Section ``vit`` of the configuration.

    Attributes
    ----------
    tiles, photos
        What is looked at.
    checkpoints
        Where published weights come from.
    hub
        Which ones.
    backbone
        A pretrained network that ships in a package.
    race
        Learners and budgets.
    """

    tiles: TilesSettings
    photos: PhotosSettings
    checkpoints: Literal["none", "mirror", "public"]
    hub: HubSettings
    backbone: BackboneSettings
    race: RaceSettings
