"""``python -m kernelhood`` is the command ``kernelhood``."""

import sys

from kernelhood.cli import main

if __name__ == "__main__":
    sys.exit(main())
