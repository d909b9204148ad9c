"""The exit codes of the command, which ``mercer --help`` lists.

Nothing is imported here: the command begins with them, and says so where its extra is missing.
"""

OK = 0
BUG = 1  # an error of Mercer's own
USAGE = 2  # a wrong command line
DATA = 3  # wrong data
OUTPUT = 4  # a result could not be written
NO_EXTRA = 5  # an extra is not installed
NO_REPORT = 6  # the model is written, and its report is not
DUPLICATES = 7  # mercer dedup --fail has found near-duplicates, or mercer link --fail matches
INTERRUPTED = 130
