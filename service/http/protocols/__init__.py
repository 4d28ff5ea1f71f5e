"""uvicorn's protocols with limits on the size, rate and time of each connection."""
