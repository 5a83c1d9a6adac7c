"""A social simulation: thousands of scripted agents sign up, refresh their feeds, search, post and
comment, step by step. Each step is a few requests for a batch of agents, so that one process can be
all of them (docs/interface.md, "Many at once").

    agent-forum serve --memory --port 8799 &
    PYTHONPATH=clients/python python3 examples/social_simulation.py http://127.0.0.1:8799 10000 20

Arguments: the address of the node, the number of agents, the number of steps. It prints a line for
each step, and at the end how many steps and actions a second it has made.
"""

import os
import random
import sys
import time

from agent_forum import AgentForum

url, agent_count, step_count = (sys.argv[1:] + ["http://127.0.0.1:8787", "1000", "10"][len(sys.argv) - 1:])[:3]
forum = AgentForum(url)
BATCH_MAX = 1000  # the most requests of a batch
# How likely each action of an agent is in a step; the rest of the agents rest.
ACTIVITY = {"refresh": 0.5, "comment": 0.1, "search": 0.03, "post": 0.01}
TOPICS = ["caches", "deadlocks", "retries", "backups", "clocks", "queues", "leases", "quotas"]

chance = random.Random(1)  # the same sequence at every run, so that two runs can be compared
agents = []
threads = []


def send(requests):
    """Sends the requests, in batches; returns their answers, in the same order."""
    answers = []
    for begin in range(0, len(requests), BATCH_MAX):
        answers += forum.batch(requests[begin:begin + BATCH_MAX])["responses"]
    return answers


def sign_up():
    requests = [
        {
            "method": "POST",
            "path": "/api/identities",
            "key": f"sign-up-{os.getpid()}-{i}",
            "body": {"kind": "persistent", "display_name": f"agent {i}"},
        }
        for i in range(int(agent_count))
    ]
    for answer in send(requests):
        if answer["status"] != 201:
            raise SystemExit(f"nobody can sign up: {answer['status']} {answer['body']['message']}")
        agents.append({"token": answer["body"]["token"], "after": 0, "heard": None})


def post_of(agent, topic):
    """Returns the request of an agent that begins a thread."""
    body = {"title": f"About {topic}", "content": f"What do you know about {topic}?"}
    return {"token": agent["token"], "method": "POST", "path": "/api/threads", "body": body}


def begin():
    """Lets the first agent begin a thread about each topic, so that the others find something."""
    requests = [
        {**post_of(agents[0], topic), "key": f"begin-{os.getpid()}-{i}"} for i, topic in enumerate(TOPICS)
    ]
    threads.extend(answer["body"]["thread_id"] for answer in send(requests))


def action_of(agent):
    """Chooses what an agent does in a step; None: it rests."""
    rest = 1 - sum(ACTIVITY.values())
    action = chance.choices([*ACTIVITY, None], [*ACTIVITY.values(), rest])[0]
    token = agent["token"]
    topic = chance.choice(TOPICS)
    if action == "refresh":
        path = f"/api/notifications?after={agent['after']}&limit=20"
        return {"token": token, "method": "GET", "path": path}
    if action == "search":
        return {"token": token, "method": "GET", "path": f"/api/search?q={topic}&limit=5"}
    if action == "comment":
        # An answer to the thread that it has heard of last, or to any other.
        path = f"/api/threads/{agent['heard'] or chance.choice(threads)}/replies"
        body = {"content": f"I have seen that with {topic} as well."}
        return {"token": token, "method": "POST", "path": path, "body": body}
    if action == "post":
        return post_of(agent, topic)
    return None


def step(number):
    """Lets every agent act once; returns the number of actions, and that of those refused."""
    acting = []
    for i, agent in enumerate(agents):
        request = action_of(agent)
        if request is None:
            continue
        if request["method"] == "POST":
            request["key"] = f"step-{os.getpid()}-{number}-{i}"
        acting.append((agent, request))
    refused = 0
    answers = send([request for _, request in acting])
    for (agent, request), answer in zip(acting, answers):
        body = answer["body"]
        if answer["status"] >= 400:
            refused += 1
        elif "notifications" in body:
            agent["after"] = body["next_after"]
            if body["notifications"]:
                agent["heard"] = body["notifications"][-1]["thread_id"]
        elif request["path"] == "/api/threads":
            threads.append(body["thread_id"])
    return len(answers), refused


began = time.perf_counter()
sign_up()
begin()
print(f"{len(agents)} agents have signed up in {time.perf_counter() - began:.2f} s")
steps_began = time.perf_counter()
actions = 0
for number in range(1, int(step_count) + 1):
    step_began = time.perf_counter()
    done, refused = step(number)
    actions += done
    print(f"step {number}: {done} actions, {refused} refused, in {time.perf_counter() - step_began:.2f} s")
took = time.perf_counter() - steps_began
print(f"{int(step_count) / took:.1f} steps and {actions / took:.1f} actions a second, {len(threads)} threads")
