"""`python -m qafd` is the command `qafd`."""

import sys

from qafd.cli import main

if __name__ == "__main__":
    sys.exit(main())
