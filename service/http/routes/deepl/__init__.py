"""DeepL's API, version 2, below /v2.

It stands outside the OpenAPI document: its shapes are DeepL's, and docs/deepl.md describes what
becomes of each field.
"""
