"""From the text of a URDF to the arrays of a `Model`, one room per step.

``mesh_paths`` finds files, of ``package://`` names too. ``xacro`` starts the ``expander``, a process that expands xacro
files, with ``expressions`` on ``bounded`` functions. ``source`` knows the text and the places in it, ``markup`` reads
XML and ``numerals`` numbers, ``substitution`` works out expressions that stand in a URDF, ``foreign`` names what other
simulators add, ``reading`` and ``joints`` make ``elements`` of it, which are links and joints, ``topology`` makes a
tree of them (``spelling`` guesses at names), ``assembly`` makes bodies of the tree. ``physical_checks`` judges the
numbers, and `engine.urdf.load` runs the steps, collects what is wrong and hands out the model. ``repair`` writes a
mended copy.
"""
