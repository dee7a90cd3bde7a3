"""Commands of `torch-pjrt`. Each imports what it needs when it runs, so that --help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(
    name="torch-pjrt",
    help="PyTorch on any accelerator that has a PJRT plugin.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


@app.callback()
def _main() -> None:
    pass


@app.command()
def info() -> None:
    """Show the plugin, its devices and the versions of everything involved."""
    from torch_pjrt.cli.info import show

    try:
        show(Console())
    except Exception as error:
        Console(stderr=True).print(f"[red]No device:[/] {error}", highlight=False)
        raise typer.Exit(1) from error


@app.command()
def demo(
    device: Annotated[
        str | None, typer.Option(help="A torch device; default: the accelerator torch reports.")
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(help="A text file, one sentence a line.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where the numbers go.")] = Path("build/demo.json"),
    rounds: Annotated[int, typer.Option(min=1, help="How often the batches are measured.")] = 4,
) -> None:
    """Embed real sentences with MiniLM on the device and compare with torch on the CPU."""
    from torch_pjrt.demo import run
    from torch_pjrt.demo.model import DemoError

    try:
        result = run(device, sentences, output, rounds)
    except DemoError as error:
        Console(stderr=True).print(f"[red]The demo cannot run:[/] {error}", highlight=False)
        raise typer.Exit(2) from error
    if result.problems():
        raise typer.Exit(1)
