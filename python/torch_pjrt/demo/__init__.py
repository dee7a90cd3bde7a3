"""The main job: embed real sentences with MiniLM on the device and check them against the CPU.

`model` loads what is embedded, `batches` pads it to few shapes, `embed` runs and measures,
`report` shows the outcome and writes it as JSON.
"""

from torch_pjrt.demo.main import run

__all__ = ["run"]
