"""Lessons: the papers' algorithms executed on a robot stage by stage, with the results and costs of each stage.

`trace` runs the code of `engine.algorithms` and records its stages; `lesson` combines them with the text in
``resources/lessons``; `drawing` draws the known quantities; `pages` writes everything as HTML.
"""
