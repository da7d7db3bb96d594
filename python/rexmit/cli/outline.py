"""The outline of all commands, from which a shell's questions are answered.

To load a command takes up to a second, since it brings the tables and the drawing along; a shell asks at
each press of a key. So the names, options and choices of all commands stand in `outline.json`, which `make
schema` writes from the commands themselves, and `outlined` makes commands of it that can be asked what may
follow, and do nothing else.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from rexmit.cli import completing

FILE = Path(__file__).with_suffix(".json")


def outline(command: click.Command, context: click.Context) -> dict[str, Any]:
    """What of a command, and of those below it, a shell may ask."""
    told: dict[str, Any] = {
        "name": command.name,
        "help": command.get_short_help_str(200),
        "parameters": [_parameter(one) for one in command.params],
        "settings": {key: value for key, value in command.context_settings.items() if key in _SETTINGS},
    }
    if type(command).parse_args is not click.Command.parse_args and not isinstance(command, click.Group):
        # It reads its line in a way of its own: it is asked itself.
        return {"name": command.name, "help": told["help"], "own": True}
    if isinstance(command, click.Group):
        below = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        told["commands"] = [outline(one, context) for _, one in below if one is not None]
    return told


def text(command: click.Group) -> str:
    """The content of `outline.json` for the command `rexmit`."""
    told = outline(command, click.Context(command, info_name="rexmit"))
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def outlined() -> click.Group:
    """The command `rexmit` as the file has it."""
    group = _made(json.loads(FILE.read_text(encoding="utf-8")))
    assert isinstance(group, click.Group)
    return group


_SETTINGS = ("ignore_unknown_options", "allow_extra_args", "allow_interspersed_args", "help_option_names")


def _parameter(one: click.Parameter) -> dict[str, Any]:
    complete = one._custom_shell_complete
    told: dict[str, Any] = {
        "kind": one.param_type_name,
        "names": [*one.opts, *one.secondary_opts],
        "nargs": one.nargs,
        "required": one.required,
        "type": _type(one.type),
        "complete": complete.__name__ if complete else None,
    }
    if isinstance(one, click.Option):
        told |= {"flag": one.is_flag, "multiple": one.multiple, "help": one.help, "hidden": one.hidden}
        if one.secondary_opts:
            told["names"] = ["/".join(pair) for pair in zip(one.opts, one.secondary_opts, strict=True)]
    return {key: value for key, value in told.items() if value not in (None, False)}


def _type(kind: click.ParamType[Any]) -> Any:
    if isinstance(kind, click.Choice):
        return [str(choice) for choice in kind.choices]
    if isinstance(kind, click.Path):
        return "file" if kind.file_okay else "folder"
    return None


class _Own(click.Command):
    """One that reads its line in a way of its own: loaded once its line is read."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command itself."""
        command: click.Command = getattr(import_module(f"rexmit.cli.{self.name}"), str(self.name))
        return command.make_context(info_name, args, parent, **extra)


def _made(told: dict[str, Any]) -> click.Command:
    if told.get("own"):
        return _Own(told["name"], short_help=told["help"])
    parameters = [_made_parameter(one) for one in told["parameters"]]
    common: dict[str, Any] = {
        "name": told["name"],
        "short_help": told["help"],
        "params": parameters,
        "context_settings": told["settings"],
    }
    if "commands" not in told:
        return click.Command(**common)
    return click.Group(**common, commands=[_made(one) for one in told["commands"]])


def _made_parameter(told: dict[str, Any]) -> click.Parameter:
    kind = told.get("type")
    type_: click.ParamType[Any] = click.STRING
    if isinstance(kind, list):
        type_ = click.Choice(kind)
    elif kind is not None:
        type_ = click.Path(file_okay=kind == "file")
    complete = getattr(completing, told["complete"]) if "complete" in told else None
    common: dict[str, Any] = {
        "nargs": told["nargs"],
        "required": told.get("required", False),
        "shell_complete": complete,
    }
    if told["kind"] == "argument":
        return click.Argument(told["names"], type=type_, **common)
    if told.get("flag"):
        common.pop("nargs")
        return click.Option(
            told["names"], is_flag=True, help=told.get("help"), multiple=told.get("multiple", False)
        )
    return click.Option(
        told["names"],
        type=type_,
        multiple=told.get("multiple", False),
        help=told.get("help"),
        hidden=told.get("hidden", False),
        **common,
    )
