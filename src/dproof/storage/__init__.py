"""Folders of releases: written whole or not at all, here or on another file system."""
