"""States shown without graph and serializer, against those that real graphs tell."""
