"""`rexmit completion`: lets a shell complete commands, options, studies and settings."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, ShellComplete, add_completion_class, get_completion_class

from rexmit.errors import StoreError
from rexmit.files import make_folder, write_text

SHELLS = ("bash", "zsh", "fish")


class _Bash(BashComplete):
    """Bash: no blank after `KEY=`, and no search for a bash where the script is only written."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", 'COMPREPLY+=("$value")\n            [[ $value == *= ]] && compopt -o nospace'
    )

    def source(self) -> str:
        return ShellComplete.source(self)


add_completion_class(_Bash)


@click.command(
    epilog="""\b
Examples:
  source <(rexmit completion bash)
  rexmit completion zsh --install"""
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--install", is_flag=True, help="Write it where the shell looks for it, for new shells.")
def completion(shell: str, install: bool) -> None:
    """Print the script with which SHELL completes commands, options, studies, settings and columns."""
    from rexmit.cli import COMPLETE, cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "rexmit", COMPLETE).source()
    if not install:
        click.echo(script, nl=False)
        return
    path = _place(shell)
    try:
        make_folder(path.parent, resumable=False)
        write_text(path, script, resumable=False)
    except StoreError as error:
        raise StoreError(f"{error}; or print the script instead") from None
    click.echo(f"{path}: written; a new {shell} completes rexmit{_hint(shell, path)}")


def _place(shell: str) -> Path:
    """Where a shell looks for the completions of a command."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if shell == "bash":
        return data / "bash-completion" / "completions" / "rexmit"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_rexmit"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "fish/completions/rexmit.fish"


def _hint(shell: str, path: Path) -> str:
    if shell == "bash":
        return ", where the package bash-completion is installed"
    if shell == "zsh":
        return f", once .zshrc has 'fpath+=({path.parent})' before compinit"
    return ""
