"""The agent's process: `python -ISB _agent.py MODULE PLACE JOB [DESCRIPTOR]`.

PLACE is `guest` or `host` for runs, `emulate` (with the descriptor for its answer) or `emulate-in-guest`;
`probe` has no job and prints whether emulations can be here. It runs in a guest as its first process, where
it must start fast, so it loads the native module by its file and nothing else of the package.
"""

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader


def main(module: str, place: str, job: str, answer: str = "") -> None:
    """Serves the job in the file `job` with the native module in the file `module`."""
    loader = ExtensionFileLoader("_native", module)
    spec = spec_from_loader("_native", loader)
    assert spec is not None
    native = module_from_spec(spec)
    loader.exec_module(native)
    if place == "emulate":
        native.serve_emulation(job, int(answer))
    elif place == "emulate-in-guest":
        native.serve_emulation_in_guest(job)
    elif place == "probe":
        print(native.probe_emulation())
    else:
        native.serve_job(job, place == "guest")


if __name__ == "__main__":
    # A guest's kernel puts words of its own behind.
    main(*sys.argv[1 : 5 if sys.argv[2] == "emulate" else 4])
