"""What users see: node types, declared once each."""
