"""Record linkage: which records of one or two tables are the same thing (`RecordLinkage`).

columns.py cleans and codes the values of a column, kinds.py says what of them survives an error and
how two agree, link_columns.py which of them belong together (and reads those of samples) and
records.py what they hold; candidates.py finds pairs and stages.py does so in tasks, which processes
may share; model.py and learning.py learn what matches have in common, and pairs.py holds the
result.
"""

from mercer.link.learning import LevelWeight, PairClass
from mercer.link.link_columns import LinkColumn
from mercer.link.pairs import Pairs
from mercer.link.record_linkage import RecordLinkage

__all__ = ["LevelWeight", "LinkColumn", "PairClass", "Pairs", "RecordLinkage"]

# what the command uses, and no user needs
from mercer.link.link_columns import joined_columns
from mercer.link.pairs import contradictions
from mercer.link.stages import forget_stages
