"""What the owner of a worker does not load."""

import os
import sys


def test_the_owner_of_a_worker_does_not_import_torch():
    code = "import rushes.backend.workers.worker, sys; sys.exit('torch' in sys.modules)"

    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0
