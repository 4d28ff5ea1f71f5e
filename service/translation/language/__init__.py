"""Tell what language a text is in, and where its sentences end."""
