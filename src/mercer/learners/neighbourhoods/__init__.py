"""Machines that learn a space in which neighbours predict, and explain themselves by rows."""
