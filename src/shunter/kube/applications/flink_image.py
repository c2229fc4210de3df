"""The image and version of Flink that a `flinkSpec` names. Only Kubernetes needs them. Pure."""

from __future__ import annotations

from shunter.model.errors import Invalid, Problem
from shunter.model.objects.object_meta import Document


def flink_image(values: Document) -> tuple[str, str]:
    """Raises Invalid."""
    image = values.get("image")
    name = image.get("name") if isinstance(image, dict) else image
    if not isinstance(name, str) or not name:
        fix = "name one, like {name: flink:1.20}"
        raise Invalid([Problem("spec.flinkSpec.image", "is needed on Kubernetes", None, fix)])
    return name, str(values.get("flinkVersion") or "")
