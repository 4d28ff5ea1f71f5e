"""Several servers behind one address: what Ray Serve's replicas and proxies need of us.

Nothing here imports ray; service.ray_app does.
"""
