"""torch.compile for the device: FX graphs become one executable each.

`backend.py` is what torch.compile calls; `default_backend.py` makes it the default for device
tensors; `partition.py` decides which nodes go into which executable; `importer.py` hands them to
the C++ core; `program.py` runs the result.
"""
