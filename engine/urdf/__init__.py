"""Read a URDF and build the arrays of a `Model`, one module per step.

``mesh_paths`` resolves file names, including ``package://`` names. ``xacro`` expands xacro files in a sandboxed child
process. ``source`` holds the text and element positions, ``markup`` parses the XML, ``numerals`` parses numbers,
``substitution`` evaluates simple xacro expressions, and ``foreign`` warns of other simulators' extensions. ``reading``
and ``joints`` create the ``elements`` (links and joints), ``topology`` builds their tree (``spelling`` suggests names),
and ``assembly`` creates the bodies. ``physical_checks`` validates the numbers. `engine.urdf.load` runs all steps,
collects the diagnostics and returns the model. ``repair`` writes a corrected copy.
"""
