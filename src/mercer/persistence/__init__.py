"""Files: models that are saved and loaded, archives that are checked, and whole writes."""

from mercer.persistence.archives import check_array, check_members, read_header
from mercer.persistence.errors import ModelFileError, reason
from mercer.persistence.installed import installed_only
from mercer.persistence.models import load, model_bytes, read_model, save
from mercer.persistence.skops_import import skops_io
from mercer.persistence.trust import JUDGED, trusted_names
from mercer.persistence.whole_files import open_regular, write_whole, written_whole

__all__ = [
    "JUDGED", "ModelFileError", "check_array", "check_members", "installed_only", "load",
    "model_bytes", "open_regular", "read_header", "read_model", "reason", "save", "skops_io",
    "trusted_names", "write_whole", "written_whole",
]  # fmt: skip
