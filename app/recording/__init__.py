"""The recording of a run: taking it, moving in it, and its files. Free of Qt."""
