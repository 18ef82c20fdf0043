"""`python -m dproof` is the command `dproof`."""

from dproof.cli.app import main

if __name__ == "__main__":
    main()
