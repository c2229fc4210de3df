"""The rules for names, references to runs, and labels. Manifests, REST and config.toml use them."""

from __future__ import annotations

from shunter.model.schema.field_lists import mapping
from shunter.model.schema.fields import text

NAME_SIZE_MAX = 63
RUN_DIGITS_MAX = 9
LABELS_MAX = 64
LABEL_KEY_SIZE_MAX = 128
LABEL_VALUE_SIZE_MAX = 256

NAME_PATTERN = r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$"
NAME_RULE = "lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit"
RUN_PATTERN = NAME_PATTERN.removesuffix("$") + rf"(@[1-9][0-9]{{0,{RUN_DIGITS_MAX - 1}}})?$"
NODE_NAME_SIZE_MAX = 253
NODE_NAME_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$"
LABEL_KEY_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$"
LABEL_KEY_RULE = "letters, digits, '.', '_', '/' and '-', starting and ending with a letter or digit"
LABEL_VALUE_PATTERN = r"^[^\u0000-\u001f\u007f]*$"

NAME = text(NAME_PATTERN, size_max=NAME_SIZE_MAX, rule=NAME_RULE)
RUN = text(RUN_PATTERN, size_max=NAME_SIZE_MAX + 1 + RUN_DIGITS_MAX, rule="a job's NAME, or NAME@RUN like render@3")
NODE_NAME = text(NODE_NAME_PATTERN, size_max=NODE_NAME_SIZE_MAX, rule="a host name")
LABEL_KEY = text(LABEL_KEY_PATTERN, size_max=LABEL_KEY_SIZE_MAX, rule=LABEL_KEY_RULE)
LABELS = mapping(
    LABEL_KEY,
    text(LABEL_VALUE_PATTERN, size_max=LABEL_VALUE_SIZE_MAX, rule="text without control characters"),
    count_max=LABELS_MAX,
)
