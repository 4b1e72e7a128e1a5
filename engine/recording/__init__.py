"""Recordings: the states and inputs of simulations, in bounded memory and in files."""

from engine.recording.frames import RecordedFrame
from engine.recording.recording import BUDGET, Recording
from engine.recording.run import Run
from engine.recording.setup import Setup

__all__ = ["BUDGET", "RecordedFrame", "Recording", "Run", "Setup"]
