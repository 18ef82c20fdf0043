"""What a release promises and gives, as pictures and one self-contained page."""
