"""Features of the window: each module attaches itself and is entered in `attaching`; the window knows no others."""
