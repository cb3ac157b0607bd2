"""Which checkpoints and adapters are loaded on the device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.loops.forward import Forwarder, Stack
from rushes.backend.engine.values import AdapterStack, Model
from rushes.backend.models.registry import find_adapters, find_checkpoints

if TYPE_CHECKING:
    from rushes.backend.models.adapters.adapter import Adapter
    from rushes.backend.models.family import Components
    from rushes.compiler.ir.facts import CheckpointFacts


class Residency:
    """Loads on first use, keeps the ``models_max`` most recently used.

    State: one Forwarder and the adapters of each loaded checkpoint live and go with it.
    Errors: JobFault E_CHECKPOINT, E_ADAPTER.
    """

    def __init__(self, roots: Sequence[Path], device: str, models_max: int = 2) -> None:
        self._roots = tuple(roots)
        self._device = device
        self._models_max = models_max
        self._models: OrderedDict[str, tuple[Model, Forwarder]] = OrderedDict()
        self._adapters: dict[tuple[str, str], Adapter] = {}

    def default_checkpoint(self) -> CheckpointFacts | None:
        """The first by name of the first folder that has any; what is warmed up."""
        found = find_checkpoints(self._roots)
        return next((facts for _, _, facts in found.values()), None)

    def model(self, checkpoint: str, precision: str, content_id: str) -> Model:
        key = f"{checkpoint}@{content_id}/{precision}"
        if key in self._models:
            self._models.move_to_end(key)
            return self._models[key][0]
        model = Model(self._build(checkpoint, precision, content_id), key)
        while len(self._models) >= self._models_max:
            self._forget(next(iter(self._models)))
        self._models[key] = (model, Forwarder(model.components))
        return model

    def forwarder(self, model: Model) -> Forwarder:
        """The one that runs this model's forwards. A model that was unloaded meanwhile is held again."""
        if model.key not in self._models:
            self._models[model.key] = (model, Forwarder(model.components))
        return self._models[model.key][1]

    def stack(self, model: Model, adapters: AdapterStack | None) -> Stack:
        """The transformer's adapters, loaded, those of strength 0 left out."""
        entries = adapters.entries if adapters is not None else ()
        return tuple((self._adapter(model, name), strength) for name, strength, _ in entries if strength)

    def text_stack(self, model: Model, adapters: AdapterStack | None) -> Stack:
        """The text encoder's adapters, loaded, those of strength 0 left out."""
        entries = adapters.entries if adapters is not None else ()
        return tuple((self._adapter(model, name), strength) for name, _, strength in entries if strength)

    def _build(self, checkpoint: str, precision: str, content_id: str) -> Components:
        try:
            found = find_checkpoints(self._roots).get(checkpoint)
        except ValueError as error:
            raise JobFault("E_CHECKPOINT", str(error)) from error
        if found is None:
            raise JobFault("E_CHECKPOINT", f"checkpoint {checkpoint} was expected and is not on this machine")
        family, folder, facts = found
        if facts.content_id != content_id:
            raise JobFault("E_CHECKPOINT", f"the files of {checkpoint} changed since the job was submitted")
        try:
            return family.build(folder, device=self._device, precision=precision)
        except (ValueError, OSError) as error:
            raise JobFault("E_CHECKPOINT", f"{checkpoint} cannot be loaded: {error}") from error

    def _adapter(self, model: Model, name: str) -> Adapter:
        key = (model.key, name)
        if key not in self._adapters:
            path = find_adapters(self._roots).get(name)
            if path is None:
                raise JobFault("E_ADAPTER", f"adapter {name} was expected and is not on this machine")
            try:
                self._adapters[key] = model.components.load_adapter(path)
            except (ValueError, OSError) as error:
                raise JobFault("E_ADAPTER", f"{name}: {error}") from error
        return self._adapters[key]

    def _forget(self, key: str) -> None:
        del self._models[key]
        for owner, name in [pair for pair in self._adapters if pair[0] == key]:
            del self._adapters[owner, name]
