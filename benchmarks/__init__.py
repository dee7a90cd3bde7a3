"""`make bench`: what the device costs per call, against the raw plugin and torch on the CPU."""
