"""Lessons: the papers' algorithms at work on a robot, stage by stage, with what is computed and counted at each.

`trace` has the texts of `engine.algorithms` carried out and takes down their stages; `lesson` puts the words of
``resources/lessons`` beside them; `drawing` draws what is known by then; `pages` writes it all as HTML.
"""
