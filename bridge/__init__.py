"""The bridge between a client's tools and a backend's. All but the outer modules is sans-IO."""
