"""What a workspace holds, for people to look through and put right."""
