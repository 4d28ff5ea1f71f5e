"""Data kept between starts, in SQLite."""
