"""slow_broker.py PORT: a broker of MQTT. It prints a line when clients can connect."""

import asyncio
import sys

from amqtt.broker import Broker


async def serve(port: str) -> None:
    listeners = {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    await Broker({"listeners": listeners, "plugins": plugins}).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(serve(sys.argv[1]))
