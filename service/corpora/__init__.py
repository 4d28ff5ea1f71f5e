"""Much text in bounded memory: parts of long texts, and corpora, whose texts stay in order."""
