"""Who may use the server and how much: API keys, limits of each client, and quotas."""
