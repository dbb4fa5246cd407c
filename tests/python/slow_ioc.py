"""slow_ioc.py PREFIX: a soft IOC of EPICS, which prints a line when clients can connect.

Its temperature counts up; even values have a minor alarm.
"""

import sys
from typing import Any

from caproto import AlarmSeverity, AlarmStatus
from caproto.server import PVGroup, pvproperty, run


class Cryostat(PVGroup):
    temperature = pvproperty(value=0.0, name="TEMP", units="K", precision=3)
    field = pvproperty(value=1.5, name="FIELD", units="T")

    @temperature.scan(period=0.02)
    async def temperature(self, instance: Any, _: Any) -> None:
        value = instance.value + 1
        severity = AlarmSeverity.NO_ALARM if value % 2 else AlarmSeverity.MINOR_ALARM
        await instance.alarm.write(severity=severity, status=AlarmStatus.NO_ALARM, publish=False)
        await instance.write(value)


async def ready(_: Any) -> None:
    print("ready", flush=True)


run(Cryostat(prefix=sys.argv[1]).pvdb, interfaces=["127.0.0.1"], startup_hook=ready)
