"""What all tests share: how Hypothesis looks for counterexamples."""

from hypothesis import settings

# A busy machine is no counterexample: examples have no deadline.
settings.register_profile("remeasure", deadline=None)
settings.load_profile("remeasure")
