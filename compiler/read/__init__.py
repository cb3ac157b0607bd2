"""JSON to `Graph`: the door for documents, where old and strange ones are told apart."""
