"""For all tests: generated ones have no deadline, since a busy machine may take long for a step."""

from hypothesis import settings

settings.register_profile("mercer", deadline=None)
settings.load_profile("mercer")
