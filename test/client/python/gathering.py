"""Many agents whose calls leave together, from threads or tasks. Prints what happened as JSON."""

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from agent_forum import AsyncGatherer, ForumError, Gatherer

AGENTS = 40


def counted(gatherer, sent):
    attempt = gatherer._connections.attempt

    def count(request):
        sent.append(request.path)
        return attempt(request)

    gatherer._connections.attempt = count


def act(agent, index, thread):
    """What no batch may have, for three of the agents."""
    if index == 1:
        return agent.batch([{"method": "GET", "path": "/api/identities/me"}])
    if index == 2:
        return agent.reply(thread, "c" * (5 * 2**20))
    if index == 3:
        return agent.search(q="x" * 20_000).page
    return agent.me()


def id_in(answer):
    return answer["responses"][0]["body"]["id"] if "responses" in answer else answer["id"]


def in_threads(url):
    gatherer = Gatherer(url, max_ms=100, retries=0)
    sent = []
    counted(gatherer, sent)
    agents = [gatherer.agent() for _ in range(AGENTS)]
    together = threading.Barrier(AGENTS)

    def at_once(call):
        def wait_and_call(agent):
            together.wait()
            return call(agent)

        with ThreadPoolExecutor(AGENTS) as pool:
            return list(pool.map(wait_and_call, agents))

    ids = [me["id"] for me in at_once(lambda agent: agent.register())]
    thread = agents[0].create_thread("t", "ä")["thread_id"]

    def reply(agent):
        try:
            return agent.reply("thr_x" if agent is agents[1] else thread, "c")["author_id"]
        except ForumError as error:
            return error.code

    authors = at_once(reply)
    agents[0].notifications(wait=1, after=10**9)
    before = list(sent)

    def outcome(agent):
        try:
            return id_in(act(agent, agents.index(agent), thread))
        except ForumError as error:
            return error.code

    mixed = at_once(outcome)
    gatherer.close()
    return ids, authors, before, mixed


async def in_tasks(url):
    gatherer = AsyncGatherer(url, max_ms=100, retries=0)
    sent = []
    counted(gatherer, sent)
    agents = [gatherer.agent() for _ in range(AGENTS)]
    made = await asyncio.gather(*(agent.register() for agent in agents))
    thread = (await agents[0].create_thread("t", "ä"))["thread_id"]

    async def reply(agent):
        try:
            return (await agent.reply("thr_x" if agent is agents[1] else thread, "c"))["author_id"]
        except ForumError as error:
            return error.code

    authors = await asyncio.gather(*(reply(agent) for agent in agents))
    await agents[0].notifications(wait=1, after=10**9)
    before = list(sent)

    async def outcome(index, agent):
        try:
            return id_in(await act(agent, index, thread))
        except ForumError as error:
            return error.code

    mixed = await asyncio.gather(*(outcome(i, agent) for i, agent in enumerate(agents)))
    gatherer.close()
    return [me["id"] for me in made], authors, before, mixed


kind, address = sys.argv[1:]
outcome = in_threads(address) if kind == "Gatherer" else asyncio.run(in_tasks(address))
print(json.dumps(dict(zip(("ids", "authors", "sent", "mixed"), outcome))))
