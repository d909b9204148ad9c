"""A contract of import-linter: other rooms import from a room's ``__init__.py``, its face.

A file may import the faces of all rooms, and files of its own room and of the rooms around it.
pyproject.toml names this contract; ``lint-imports`` checks it.
"""

from importlinter import Contract, ContractCheck, output


class FacesContract(Contract):
    """No import of a file from outside the room that holds it."""

    type_name = "faces"

    def check(self, graph, verbose):
        past = []
        for module in sorted(graph.modules):
            room = module.rpartition(".")[0]
            if not room or graph.find_children(module):
                continue  # the package itself, or a room, whose import is that of its face
            for importer in sorted(graph.find_modules_that_directly_import(module)):
                if importer != room and not importer.startswith(f"{room}."):
                    past.append((importer, module))
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check):
        for importer, module in check.metadata["past"]:
            room = module.rpartition(".")[0]
            output.print_error(f"- {importer} imports {module}: import from {room}", bold=True)
