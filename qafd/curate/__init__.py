"""The contents of a workspace, for people to review and edit."""
