"""Commands of `torch-pjrt`. Each imports what it needs when it runs, so that --help is quick."""

from __future__ import annotations

from collections.abc import Callable
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


cache = typer.Typer(
    help="The programs that are kept on disk (TORCH_PJRT_CACHE_DIR).", no_args_is_help=True
)
app.add_typer(cache, name="cache")


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


def _with_cache(action: Callable[[Console], None]) -> None:
    try:
        action(Console())
    except RuntimeError as error:
        Console(stderr=True).print(f"[red]No cache:[/] {error}", highlight=False)
        raise typer.Exit(1) from error


@cache.command()
def stats() -> None:
    """Show where the cache is, how large it is, and what is in it."""
    from torch_pjrt.cli import cache as commands

    _with_cache(commands.stats)


@cache.command("ls")
def list_programs(
    limit: Annotated[int, typer.Option(min=1, help="How many, latest used first.")] = 40,
) -> None:
    """List the programs, the latest used first."""
    from torch_pjrt.cli import cache as commands

    _with_cache(lambda console: commands.show_programs(console, limit))


@cache.command()
def clear() -> None:
    """Remove all programs; what is needed again is compiled again."""
    from torch_pjrt.cli import cache as commands

    _with_cache(commands.clear)


@cache.command()
def why(
    program: Annotated[
        str | None,
        typer.Argument(help="The beginning of a program's key, as `ls` shows; default: last run."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many programs of the last run.")] = 5,
) -> None:
    """Say why programs were compiled: what differs from the nearest one of earlier runs.

    Without a program: those that the last run compiled.
    """
    from torch_pjrt.cli import cache as commands

    _with_cache(lambda console: commands.why(console, program, limit))
