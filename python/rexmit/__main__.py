"""`python -m rexmit`: the command `rexmit`."""

from rexmit.cli import main

if __name__ == "__main__":
    main()
