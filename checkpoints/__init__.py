"""The bundled checkpoints. In a wheel this directory is the package `dragoman_checkpoints`."""
