"""What is taken for the path of a file."""

from __future__ import annotations

import os
from typing import TypeAlias

Path: TypeAlias = "str | os.PathLike[str]"
