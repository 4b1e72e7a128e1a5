"""What any desktop application has: theme, actions, docks, dialogs, crash reports; nothing of robots."""
