"""Switches off telemetry and busy waiting; imported first, because some libraries read these at import."""

import os

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

for _name, _value in DEFAULTS.items():
    os.environ.setdefault(_name, _value)
