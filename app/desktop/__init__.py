"""Parts common to desktop applications: theme, actions, docks, dialogs and crash reports; nothing about robots."""
