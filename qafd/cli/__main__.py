"""`python -m qafd.cli` is the command line."""

import sys

from qafd.cli import main

sys.exit(main())
