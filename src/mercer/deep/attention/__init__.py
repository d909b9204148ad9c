"""Attention by any kernel: functions, a layer and a classifier."""
