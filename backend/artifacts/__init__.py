"""Files: content-addressed store, uploaded and shipped assets, finished artifacts."""
