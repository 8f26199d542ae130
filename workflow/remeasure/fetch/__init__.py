"""The fetch room: one HTTP client, the raw cache, mirrors, archives."""
