"""A task that ends its process once. It is in a file that other processes find, for they have the
paths of this one, but know nothing of the modules that pytest has loaded."""

import os
import signal
from pathlib import Path


def dying_once(marker, function, number):
    """The task of a number; the first time that it is number 1, the process is killed."""
    if number == 1 and not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(number)
