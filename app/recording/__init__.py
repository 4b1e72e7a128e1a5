"""The recording of a run: replaying it, saving it automatically, and its files. Free of Qt."""
