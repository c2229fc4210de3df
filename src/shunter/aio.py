"""The async client under its public name: `async with shunter.aio.connect() as client: ...`"""

from shunter.sdk.async_client import Client, Job, connect

__all__ = ["Client", "Job", "connect"]
