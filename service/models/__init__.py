"""What is in memory and why."""
