"""A pass a file, named by its verb; `order.py` is the page that lists them."""
