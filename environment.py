"""Switches off telemetry and busy waiting; imported first, because some libraries read these at import."""

import ctypes
import os
import sys

DEFAULTS = {
    "ANONYMIZED_TELEMETRY": "False",  # chromadb
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "LANGGRAPH_STRICT_MSGPACK": "true",  # a checkpoint never names a class to import
    "OMP_WAIT_POLICY": "PASSIVE",  # idle embedding threads sleep; spinning ones take the cores from stores
    "TOKENIZERS_PARALLELISM": "false",
}

# Chroma writes its index's buffer to disk also where it has never put anything. From this size on glibc gives
# memory that is zero, not memory that held texts before; unless told, it raises the size while it runs.
MMAP_THRESHOLD = 128 * 1024
M_MMAP_THRESHOLD = -3  # malloc.h

for _name, _value in DEFAULTS.items():
    os.environ.setdefault(_name, _value)

if sys.platform == "linux" and hasattr(_libc := ctypes.CDLL(None), "mallopt"):
    _libc.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)
