"""Near-duplicates among documents, and among rows of tables.

`deduplicate` (documents.py) is the whole job: documents become sets of shingles and keys of
bands (signing.py), documents that share a key are in one bucket, and a walk keeps or removes each
(walk.py). stages.py does the same over files, for the command, and writes each finished step to a
work folder (work_folder.py).

`CorpusIndex` (corpus_index.py) keeps documents of earlier days in files (segments.py), by their
shingles or by short signatures, and finds those that are like new ones.
"""

from mercer.dedup.corpus_index import CorpusIndex
from mercer.dedup.documents import Duplicates, deduplicate
from mercer.dedup.signing import Bands, Characters, Fragments, Words

__all__ = [
    "Bands", "Characters", "CorpusIndex", "Duplicates", "Fragments", "Words", "deduplicate",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.dedup.signing import Shingles, Signer, Signs, choose_bands
from mercer.dedup.stages import Decisions, Part, Stages
from mercer.dedup.walk import Rules
from mercer.dedup.work_folder import (
    forget_placed,
    is_of_another,
    placed_by,
    put_in_place,
    remove_stages,
)
