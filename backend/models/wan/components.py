"""A loaded Wan checkpoint, as the engine uses it."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from rushes.backend.models.adapters.adapter import Adapter
from rushes.backend.models.adapters.dialect import Targets
from rushes.backend.models.adapters.lanes import stack_lanes
from rushes.backend.models.adapters.read import read_adapter
from rushes.backend.models.family import FamilyError
from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters
from rushes.backend.models.layers.attention import case_of, choose_attention
from rushes.backend.models.layers.joined_rings import JoinedRings
from rushes.backend.models.layers.ring_kv import KVShape, RingKVCache
from rushes.backend.models.wan.controls import KeyEmbedding
from rushes.backend.models.wan.decoder import WanVideoDecoder
from rushes.backend.models.wan.names import original_to_ours
from rushes.backend.models.wan.preview import LinearPreview, fit_preview, read_preview
from rushes.backend.models.wan.stream import StreamDecoder
from rushes.backend.models.wan.text import WanTextEncoder, load_text_encoder
from rushes.backend.models.wan.text_kv import compact_rows, join_text
from rushes.backend.models.wan.transformer import TextKV, WanTransformer, WanTransformerConfig
from rushes.backend.models.wan.vae import WanVae, WanVaeConfig
from rushes.backend.models.wan.weights import KEPT_FP32, load_module
from rushes.compiler.ir.facts import CheckpointFacts

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
TIMESTEPS = 1000.0


class WanComponents:
    """See `Components`: shapes, units and errors are said there."""

    def __init__(
        self,
        facts: CheckpointFacts,
        transformer: WanTransformer,
        vae: WanVae,
        text_encoder: WanTextEncoder,
        keys: KeyEmbedding | None,
        preview: LinearPreview,
    ) -> None:
        weight = transformer.proj_out.weight
        self.facts = facts
        self.device, self.dtype = weight.device, weight.dtype
        self._transformer = transformer
        self._vae = vae
        self._stream = StreamDecoder(vae)
        self._text_encoder = text_encoder
        self._keys = keys
        self._preview = preview
        layers = {
            name: (module.out_features, module.in_features)
            for name, module in transformer.named_modules()
            if isinstance(module, AdaptedLinear)
        }
        self._targets = Targets(layers, original_to_ours(layers))

    def encode_text(self, texts: Sequence[str], adapters: LaneAdapters | None = None) -> Tensor:
        return self._text_encoder.encode(texts, adapters)

    @torch.no_grad()
    def text_kv(self, text: Tensor, adapters: LaneAdapters | None = None) -> TextKV:
        text = text.to(self.device)
        # The logarithm of a count is not exact enough in bf16; there all 512 rows are attended to.
        rows = compact_rows(text) if self.dtype == torch.float32 else text
        return self._transformer.text_kv(rows, adapters)

    def join_text(self, parts: Sequence[TextKV]) -> TextKV:
        return join_text(parts)

    @torch.no_grad()
    def predict(  # noqa: PLR0913 - what one forward may be given
        self,
        latent: Tensor,
        sigma: Tensor,
        text: TextKV,
        *,
        keys: Tensor | None = None,
        cache: RingKVCache | JoinedRings | None = None,
        commit: bool = False,
        adapters: LaneAdapters | None = None,
    ) -> Tensor:
        velocity = self._transformer(
            latent.to(self.device),
            self._timestep(sigma.to(self.device)),
            text,
            keys=self._embedded(keys),
            cache=cache,
            commit=commit,
            adapters=adapters,
        )
        return velocity.float()

    def new_cache(
        self, lanes: int, *, sink_frames: int, window_frames: int, height: int, width: int
    ) -> RingKVCache:
        config = self._transformer.config
        shape = KVShape(
            layers=config.num_layers,
            lanes=lanes,
            tokens_per_frame=(height // self.facts.patch) * (width // self.facts.patch),
            heads=config.num_attention_heads,
            head_dim=config.attention_head_dim,
        )
        return RingKVCache(
            shape,
            sink_frames=sink_frames,
            window_frames=window_frames,
            device=self.device,
            dtype=self.dtype,
        )

    def join_caches(self, caches: Sequence[RingKVCache]) -> RingKVCache | JoinedRings:
        return caches[0] if len(caches) == 1 else JoinedRings(caches)

    @torch.no_grad()
    def rotate_past(self, cache: RingKVCache | JoinedRings, height: int, width: int) -> None:
        self._transformer.rotate_past(cache, height // self.facts.patch, width // self.facts.patch)

    @torch.no_grad()
    def encode_video(self, frames: Tensor) -> Tensor:
        video = frames.to(self.device).permute(3, 0, 1, 2)[None].float() / 127.5 - 1
        return self._vae.normalised(self._vae.encode(video.to(self.dtype)).float())

    def decoder(self) -> WanVideoDecoder:
        return WanVideoDecoder(self._vae, self._stream)

    def preview(self, latent: Tensor) -> Tensor:
        return self._preview(latent)

    def load_adapter(self, path: Path) -> Adapter:
        return read_adapter(path, self._targets, device=self.device, dtype=self.dtype)

    def lanes(self, stacks: Sequence[Sequence[tuple[Adapter, float]]]) -> LaneAdapters | None:
        return stack_lanes(stacks)

    def text_lanes(self, stacks: Sequence[Sequence[tuple[Adapter, float]]]) -> LaneAdapters | None:
        # A file with parts for the text encoder is refused when it is read, so there are none.
        return None

    def _timestep(self, sigma: Tensor) -> Tensor:
        """Sigma per sample or latent frame as it is; per cell, the largest of each token's cells."""
        if sigma.ndim < 4:
            return sigma * TIMESTEPS
        patch = self.facts.patch
        tokens = sigma.unflatten(3, (-1, patch)).unflatten(2, (-1, patch)).amax(dim=(3, 5))
        return tokens.flatten(1) * TIMESTEPS

    def _embedded(self, keys: Tensor | None) -> Tensor | None:
        if keys is None:
            return None
        if self._keys is None:
            raise ValueError(f"{self.facts.checkpoint} must be used without keys, got some")
        return self._keys(keys.to(self.device))


def build_components(
    folder: Path, facts: CheckpointFacts, *, device: str, precision: str, use_kernels: bool = True
) -> WanComponents:
    """`use_kernels` False leaves plain PyTorch where our own kernels could run.

    Errors: FamilyError for a precision, a config or a part that does not fit; TensorFileError."""
    if precision not in DTYPES:
        raise FamilyError(f"precision must be one of {', '.join(DTYPES)}, got {precision}")
    on, dtype = torch.device(device), DTYPES[precision]
    config = WanTransformerConfig.from_json(_read(folder / "transformer" / "config.json"))
    transformer = load_module(
        lambda: WanTransformer(config), folder / "transformer", device=on, dtype=dtype, kept_fp32=KEPT_FP32
    )
    transformer.use_attention(
        choose_attention(case_of(transformer.proj_out.weight, config.attention_head_dim))
    )
    transformer.use_kernels(use_kernels and transformer.can_use_kernels)
    vae_config = WanVaeConfig.from_json(_read(folder / "vae" / "config.json"))
    vae = load_module(lambda: WanVae(vae_config), folder / "vae", device=on, dtype=dtype)
    keys = None
    if facts.control_keys:
        keys = load_module(
            lambda: KeyEmbedding(len(facts.control_keys), config.dim),
            folder / "controls",
            device=on,
            dtype=dtype,
        )
    path = folder / "preview.json"
    return WanComponents(
        facts,
        transformer,
        vae,
        load_text_encoder(folder, device=on, dtype=dtype),
        keys,
        read_preview(path, on) if path.is_file() else fit_preview(vae),
    )


def _read(path: Path) -> dict[str, object]:
    return json.loads(path.read_bytes())
