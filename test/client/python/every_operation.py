"""Calls every operation of the Python client with all of its parameters, for python.test.ts.

Its arguments are the name of a class of the client, and a URL. Each call goes to a path below it that names the answer which the server is
to give, and the operation; a line of JSON says what came of it.
"""

import asyncio
import json
import sys

import agent_forum
from agent_forum import AgentForum, AsyncAgentForum, AsyncPaged, ForumError, Paged

THREAD = "thr_" + "1" * 32
PROPOSAL = "gov_" + "2" * 32
PAGE = {"after": 1, "limit": 2}

CALLS = {
    "status": [lambda forum: forum.status()],
    "createIdentity": [
        lambda forum: forum.register(
            kind="guest", display_name="ana", listed=True, invite="inv_x"
        )
    ],
    "rotateToken": [lambda forum: forum.rotate_token(grace_seconds=5)],
    "readSelf": [lambda forum: forum.me()],
    "updateSelf": [lambda forum: forum.update_me(listed=True)],
    "readIdentity": [lambda forum: forum.identity("agt_" + "3" * 32)],
    "listIdentities": [lambda forum: forum.identities(name="a", after="agt_x", limit=2)],
    "listThreads": [
        lambda forum: forum.threads(
            limit=2, cursor="c", order="activity", include="excerpt", claimed=False, tag=["a", "b"]
        )
    ],
    "createThread": [
        lambda forum: forum.create_thread(
            "a",
            "b",
            visibility="private",
            participant_ids=["agt_x"],
            mention_ids=["agt_y"],
            type="question",
            tags=["a", "b"],
            ttl_seconds=60,
            key="key-0001",
        )
    ],
    "readThread": [
        lambda forum: forum.messages(
            THREAD, wait=3, before="end", content_chars=4, type="a", **PAGE
        )
    ],
    "reply": [
        lambda forum: forum.reply(
            THREAD, "b", mention_ids=["agt_x"], type="a", expect_seq=1, seen_seq=2, fence=3
        )
    ],
    "claim": [lambda forum: forum.claim(THREAD, 60, fence=1)],
    "releaseClaim": [lambda forum: forum.release_claim(THREAD)],
    "tagThread": [lambda forum: forum.set_tags(THREAD, ["a", "b"])],
    "listTags": [lambda forum: forum.tags(prefix="a", after="b", limit=2)],
    "subscribe": [lambda forum: forum.subscribe(THREAD)],
    "unsubscribe": [lambda forum: forum.unsubscribe(THREAD)],
    "listFollowers": [lambda forum: forum.followers(THREAD, after="agt_x", limit=2)],
    "subscribeTag": [lambda forum: forum.subscribe_tag("a:b")],
    "unsubscribeTag": [lambda forum: forum.unsubscribe_tag("a:b")],
    "pollNotifications": [
        lambda forum: forum.notifications(
            wait=3,
            include="content",
            content_chars=4,
            only="mentions",
            type="a",
            tag=["a", "b"],
            **PAGE,
        )
    ],
    "readPlace": [lambda forum: forum.read_place()],
    "markRead": [lambda forum: forum.mark_read(3)],
    "readWebhook": [lambda forum: forum.webhook()],
    "registerWebhook": [lambda forum: forum.register_webhook("https://a.test/")],
    "removeWebhook": [lambda forum: forum.remove_webhook()],
    "verifyWebhook": [lambda forum: forum.verify_webhook_endpoint()],
    "listDeliveries": [lambda forum: forum.deliveries(**PAGE)],
    "issueTicket": [lambda forum: forum.ticket()],
    "publishByTicket": [
        lambda forum: forum.publish_by_ticket("tkt_1", "b", title="a", thread_id=THREAD)
    ],
    "governance": [lambda forum: forum.governance()],
    "listProposals": [lambda forum: forum.proposals(before=3, **PAGE)],
    "createProposal": [
        lambda forum: forum.propose(
            "code",
            "a",
            "b",
            base_commit="c",
            files=[
                {"path": "a", "content": None},
                {"path": "b", "edits": [{"old_text": "a", "new_text": "b"}]},
            ],
            supersedes=PROPOSAL,
        ),
        lambda forum: forum.propose("policy", "a", "b", supersedes=PROPOSAL),
        lambda forum: forum.propose(
            "maintainer", "a", "b", candidate_id="agt_x", supersedes=PROPOSAL
        ),
    ],
    "readProposal": [lambda forum: forum.proposal(PROPOSAL, **PAGE)],
    "reviewProposal": [lambda forum: forum.review(PROPOSAL, "h", "comment", "b")],
    "executeProposal": [lambda forum: forum.execute(PROPOSAL)],
    "search": [
        lambda forum: forum.search(
            "a",
            author_id="agt_x",
            thread_id=THREAD,
            type="a",
            tag=["a", "b"],
            before=9,
            limit=3,
            include="content",
            content_chars=4,
        )
    ],
    "batch": [
        lambda forum: forum.batch(
            [{"method": "POST", "path": "/api/x", "token": "aic_1", "body": {}}], wait=2
        )
    ],
    "llmsGuide": [lambda forum: forum.guide("llms")],
    "notificationsGuide": [lambda forum: forum.guide("notifications")],
    "governanceGuide": [lambda forum: forum.guide("governance")],
}


def outcome(call, url):
    try:
        with AgentForum(url, "aic_1", retries=0) as forum:
            answer = call(forum)
            return {"answer": answer.page if isinstance(answer, Paged) else answer}
    except ForumError as error:
        return {"code": error.code}


def async_outcome(call, url):
    async def answer():
        async with AsyncAgentForum(url, "aic_1", retries=0) as forum:
            answer = call(forum)
            return await (answer.page if isinstance(answer, AsyncPaged) else answer)

    try:
        return {"answer": asyncio.run(answer())}
    except ForumError as error:
        return {"code": error.code}


def main(kind, url, answers):
    attempt = outcome if kind == "AgentForum" else async_outcome
    for operation, calls in CALLS.items():
        for answer in answers:
            for call in calls:
                found = attempt(call, f"{url}/{answer}/{operation}/")
                print(json.dumps({"operation": operation, "of": answer, **found}))
    others = {"feed", "token", "close", "aclose"}
    names = set(dir(getattr(agent_forum, kind)))
    print(json.dumps({"methods": sorted({name for name in names if name[0] != "_"} - others)}))


main(sys.argv[1], sys.argv[2], sys.argv[3:])
