"""The same promises for every backend."""

import pytest

# They are in modules that pytest does not collect itself; a failure should still say what it
# compared.
pytest.register_assert_rewrite(
    *(
        f"tests.contract.{name}"
        for name in ("deciding", "keeping", "living", "mirrors", "remembering")
    )
)
