"""Suite-wide settings."""

import pytest
from hypothesis import settings

# No deadline: on a busy machine a test is slow for reasons that are not its own. The same examples in
# every run: what fails here fails everywhere.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
