"""The type of paths in signatures."""

from __future__ import annotations

import os
from typing import TypeAlias

Path: TypeAlias = "str | os.PathLike[str]"
