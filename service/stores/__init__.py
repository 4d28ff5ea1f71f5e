"""What is kept between starts, in SQLite."""
