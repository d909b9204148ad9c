"""Files: models that are saved and loaded, archives that are checked, and whole writes."""

from mercer.persistence.archives import check_array, check_members, read_header
from mercer.persistence.field_rules import (
    check_fields,
    declared,
    each,
    equal,
    fields,
    floats,
    halves,
    length_of,
    number,
    offsets,
    one_of,
    optional,
    permutation,
    unread,
    whole,
)
from mercer.persistence.json_texts import ModelFileError, check_depth, read_json, reason
from mercer.persistence.models import load, model_bytes, read_unchecked, save
from mercer.persistence.own_objects import KeepsRecords
from mercer.persistence.schema import JUDGED
from mercer.persistence.tasks import (
    Mapped,
    StagedTasks,
    load_arrays,
    mapped_on,
    need_mercer,
    nothing,
    save_arrays,
)
from mercer.persistence.trust import installed_only, skops_io, trusted_names
from mercer.persistence.whole_files import (
    open_regular,
    stamp,
    write_together,
    write_whole,
    written_whole,
)

__all__ = [
    "JUDGED", "KeepsRecords", "ModelFileError", "check_array", "check_depth", "check_fields",
    "check_members", "declared", "each", "equal", "fields", "floats", "halves", "installed_only",
    "length_of", "load", "model_bytes", "number", "offsets", "one_of", "open_regular", "optional",
    "permutation", "read_header", "read_json", "read_unchecked", "reason", "save", "skops_io",
    "stamp", "trusted_names", "unread", "whole", "write_together", "write_whole", "written_whole",
]  # fmt: skip
