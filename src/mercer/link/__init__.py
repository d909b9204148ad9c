"""Record linkage: which records of one or two tables are the same thing (`RecordLinkage`).

columns.py cleans and codes the values of a column, kinds.py says what of them survives an error and
how two agree (sample_columns.py by a distance), records.py which columns belong together;
candidates.py finds pairs, model.py and learning.py learn what matches have in common, and pairs.py
holds the result.
"""

from mercer.link.learning import LevelWeight, PairClass
from mercer.link.pairs import Pairs
from mercer.link.record_linkage import RecordLinkage
from mercer.link.records import LinkColumn

__all__ = ["LevelWeight", "LinkColumn", "PairClass", "Pairs", "RecordLinkage"]

# what the command uses, and no user needs
from mercer.link.kept_stages import forget_stages
from mercer.link.pairs import contradictions
from mercer.link.records import names_in_common
