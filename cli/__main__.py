"""`python -m headrace.cli`."""

import sys

from .program import main

sys.exit(main())
