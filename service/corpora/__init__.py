"""Corpora: files of many texts that are translated one by one, in order, in bounded memory."""
