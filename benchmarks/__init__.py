"""What dproof costs and how well it answers, beside its peers and beside the limits of the machine."""
