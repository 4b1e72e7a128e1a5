"""Contact of robots of any shape: the articulated-body recursion with the inertias of contacts, and Newton's steps."""
