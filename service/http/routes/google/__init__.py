"""Google's Cloud Translation API, Basic edition (v2), below /language/translate/v2.

It stands outside the OpenAPI document: its shapes are Google's, and docs/google.md describes what
becomes of each field.
"""
