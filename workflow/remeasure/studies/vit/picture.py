"""What the drawings of photographs show: imports nothing, so that steps may count it."""

#: Side and patch of the drawings, bins of their histogram, and the range of these bins.
SIDE, PATCH, BINS, RANGE = 224, 16, 60, (-1.0, 1.0)
#: The larger side at which the model is asked again.
LARGER = 384
#: Numbers of each vector that the picture of the sequence shows, and the range of its colours.
DIMENSIONS, COLOURS = 96, 3.0
#: The patch that is looked at: the bear's eye.
EYE = 50
#: Patches that are drawn in a row: the first two rows of the grid.
FIRST_PATCHES = range(28)
#: Rows and columns whose positions are compared with all others.
SIMILAR = slice(0, None, 2)
#: Photographs of which DINO's maps are drawn.
SHOWN = ("bear", "shuttle", "orca", "hummingbird")
#: Mistakes that are drawn, and tiles of each class.
MISTAKES, SAMPLES = 12, 2
#: Cells of the confusion matrix above this share have their number written in.
WRITTEN = 0.01
