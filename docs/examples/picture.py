"""Draw a picture without a screen."""

from main import main

main(["render", "quadruped", "--out", "picture.png", "--size", "480x320"])
# quadruped: 480×320 pixels written to picture.png
