"""Becomes a program that is killed when its parent ends, however that comes.

`python -ISB _leash.py PARENT CORE PROGRAM [ARGUMENT]...`; it stays on CORE where that is a number.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # A parent that ended before would not be noticed.
    if os.getppid() == int(sys.argv[1]):
        if sys.argv[2].isdecimal():
            os.sched_setaffinity(0, {int(sys.argv[2])})
        try:
            os.execvp(sys.argv[3], sys.argv[3:])
        except OSError as error:
            sys.exit(f"{sys.argv[3]}: cannot be started: {error.strerror}")
