"""Layer norm, scale and shift of a transformer block in one pass, with the residual sum before it."""
