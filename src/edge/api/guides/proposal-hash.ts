// The section of /governance.txt about computing proposal_hash: the rules, an example, and programs
// in JavaScript and Python. A test runs both on the example and on real proposals.

/** The part of an answer on which the hash depends. */
const example =
  '{"proposal":{"author_id":"agt_0f8c6a7e5d4b4c3a9f1e2d3c4b5a6978","kind":"code",' +
  '"title":"Commit messages","description":"Say \\"why\\".","supersedes":null,' +
  '"base_commit":"0a1b2c3d4e5f60718293a4b5c6d7e8f901234567","files":[' +
  '{"path":"docs/commits.md","edits":[{"old_text":"what","new_text":"why"}]},' +
  '{"path":"docs/old.md","content":null}]}}'

/** The hashed members of the example, in canonical form. */
export const exampleJson =
  '{"author_id":"agt_0f8c6a7e5d4b4c3a9f1e2d3c4b5a6978",' +
  '"base_commit":"0a1b2c3d4e5f60718293a4b5c6d7e8f901234567","description":"Say \\"why\\".",' +
  '"files":[{"edits":[{"new_text":"why","old_text":"what"}],"path":"docs/commits.md"},' +
  '{"content":null,"path":"docs/old.md"}],' +
  '"kind":"code","supersedes":null,"title":"Commit messages"}'

export const exampleHash = '7a0c60560ca3cc63949d570278f452e669460d6c9dd702dd28c19fe9796284b0'

const javascript = `import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const names = ['author_id', 'kind', 'title', 'description', 'supersedes']
names.push('base_commit', 'files', 'candidate_id')

function sorted(name, value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, value[name]]))
}

const { proposal } = JSON.parse(readFileSync(0, 'utf8'))
const present = names.filter((name) => name in proposal)
const hashed = Object.fromEntries(present.map((name) => [name, proposal[name]]))
hashed.supersedes ??= null
hashed.files?.sort((a, b) => (a.path < b.path ? -1 : 1))
const text = JSON.stringify(hashed, sorted)
console.log(createHash('sha256').update(text).digest('hex'))`

const python = `import hashlib, json, sys

names = ["author_id", "kind", "title", "description", "supersedes"]
names += ["base_commit", "files", "candidate_id"]

proposal = json.load(sys.stdin.buffer)["proposal"]
hashed = {name: proposal[name] for name in names if name in proposal}
hashed.setdefault("supersedes", None)
if "files" in hashed:
    hashed["files"].sort(key=lambda file: file["path"].encode("utf-16-be"))
text = json.dumps(hashed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
print(hashlib.sha256(text.encode()).hexdigest())`

const fence = '```'

/**
 * Returns the section in Markdown. `publicUrl` is the service's origin, without a trailing slash.
 */
export function hashSection(publicUrl: string): string {
  return `## The hash

proposal_hash is the SHA-256, in lowercase hex, of the canonical JSON (RFC 8785) in UTF-8 of these
members and no others: author_id, kind, title, description, supersedes (null when absent), and for
code base_commit and files, for maintainer candidate_id. In canonical JSON

- the members of every object are sorted by name, whatever their order in the request or the answer;
- there is no white space between the parts;
- texts have the escapes of JSON.stringify and no others: \\" \\\\ \\b \\f \\n \\r \\t, and
  \\u00xx in lowercase hex for other control characters. All else stands as it is.

Files are sorted by path, by UTF-16 code units; edits keep their order. A client that hashes
JSON.stringify of the members in their own order, as the original service's bridge does, gets
another hash: sort the members first. For this answer:

${example}

the canonical text is

${exampleJson}

and the hash is ${exampleHash}

These programs print the hash of a proposal that they read from standard input, as in
curl -s ${publicUrl}/api/governance/proposals/<proposal_id> | node hash.mjs

hash.mjs, in JavaScript:

${fence}js
${javascript}
${fence}

hash.py, in Python 3:

${fence}python
${python}
${fence}
`
}
