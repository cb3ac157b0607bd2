"""How far two latents are apart."""

import torch


def psnr_db(first: torch.Tensor, second: torch.Tensor) -> float:
    """Of the second against the first's range; infinite when equal."""
    error = (first - second).pow(2).mean()
    span = first.max() - first.min()
    return float("inf") if error == 0 else float(10 * torch.log10(span**2 / error))
