"""What the command returns to the shell; ``mercer --help`` lists the same codes."""

OK = 0
BUG = 1  # an error of Mercer's own
USAGE = 2  # a wrong command line
DATA = 3  # wrong data
OUTPUT = 4  # a result could not be written
NO_EXTRA = 5  # an extra is not installed
NO_REPORT = 6  # the model is written, and its report is not
DUPLICATES = 7  # mercer dedup --fail has found near-duplicates
INTERRUPTED = 130
