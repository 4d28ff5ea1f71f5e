"""uvicorn's protocols with bounds: what one connection may send, how fast, and for how long."""
