"""Run several jobs at once with the async client, each followed to its end on its own connection."""

import asyncio

import shunter.aio


async def main() -> None:
    async with shunter.aio.connect() as client:
        commands = [["sh", "-c", f"sleep 0.{number}; echo {number}"] for number in range(5)]
        jobs = await asyncio.gather(*(client.run_to_end(command, cpu="100m") for command in commands))
        for job in jobs:
            print(job.name, job.state, (await job.result()).strip())


asyncio.run(main())
