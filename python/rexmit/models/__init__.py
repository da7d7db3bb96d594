"""Formulas of TCP's throughput and of buffer sizes, each with its source, units and range.

They take numbers or NumPy arrays, and raise ModelError of one line for an argument outside their domain.

```python
import numpy as np
from rexmit import models

models.klaver_odd_window(np.array([0.001, 0.01]))  # segments in flight on average
flow = models.Flow(mss=1448, rtt=0.1)
models.FORMULAS["cubic"].bandwidth(1e-5, flow)  # bit/s
```
"""

from rexmit.errors import ModelError
from rexmit.models.buffers import (
    FULL_PACKET,
    RULE_LIMITS,
    UplinkMeasures,
    bdp_buffer,
    drain_time,
    many_flows_buffer,
    uplink_buffer_bound,
)
from rexmit.models.tcp_friendly import (
    CUBIC_BETA,
    CUBIC_C,
    FORMULAS,
    KLAVER_LARGEST_P,
    KLAVER_LARGEST_P_EVEN,
    KLAVER_LARGEST_P_ODD,
    KLAVER_SMALLEST_WINDOW,
    MATHIS_C,
    MATHIS_C_DELAYED,
    OTT_C,
    OTT_C_DELAYED,
    Flow,
    Formula,
    aimd_window,
    bandwidth,
    cubic_window,
    klaver_cycle_segments,
    klaver_cycle_window,
    klaver_even_window,
    klaver_odd_window,
    klaver_peak_even,
    klaver_peak_odd,
    loss_of_delivered,
    mathis_window,
    ott_window,
    pftk_full_window,
    pftk_peak_window,
    pftk_timeout_share,
    pftk_window,
    tfrc_window,
)

__all__ = [
    "CUBIC_BETA",
    "CUBIC_C",
    "FORMULAS",
    "FULL_PACKET",
    "KLAVER_LARGEST_P",
    "KLAVER_LARGEST_P_EVEN",
    "KLAVER_LARGEST_P_ODD",
    "KLAVER_SMALLEST_WINDOW",
    "MATHIS_C",
    "MATHIS_C_DELAYED",
    "OTT_C",
    "OTT_C_DELAYED",
    "RULE_LIMITS",
    "Flow",
    "Formula",
    "ModelError",
    "UplinkMeasures",
    "aimd_window",
    "bandwidth",
    "bdp_buffer",
    "cubic_window",
    "drain_time",
    "klaver_cycle_segments",
    "klaver_cycle_window",
    "klaver_even_window",
    "klaver_odd_window",
    "klaver_peak_even",
    "klaver_peak_odd",
    "loss_of_delivered",
    "many_flows_buffer",
    "mathis_window",
    "ott_window",
    "pftk_full_window",
    "pftk_peak_window",
    "pftk_timeout_share",
    "pftk_window",
    "tfrc_window",
    "uplink_buffer_bound",
]
