"""Display classes, and the report."""
