"""The agent's process: `python -ISB _agent.py MODULE PLACE JOB [DESCRIPTOR]`.

PLACE is `host` for runs, or `emulate` (with the descriptor for its answer); `probe` has no job and prints
whether emulations can be here. It must start fast, so it loads the native module by its file and nothing else
of the package.
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
    elif place == "probe":
        print(native.probe_emulation())
    else:
        native.serve_job(job)


if __name__ == "__main__":
    main(*sys.argv[1:])
