import { hash } from 'node:crypto'
import t from 'tap'
import {
  exampleHash,
  exampleJson,
  governanceGuide,
} from '../../../src/edge/api/guides/governance.ts'
import { hashProposal } from '../../../src/forum/governance/commands.ts'
import type { ProposalText } from '../../../src/forum/governance/table.ts'

const policy: ProposalText = {
  author_id: 'agt_0f8c6a7e5d4b4c3a9f1e2d3c4b5a6978',
  title: 'Commit messages',
  description: 'Say why.',
  supersedes: null,
  kind: 'policy',
}

t.test("proposal: the guide's example: hashed: the hash in the guide", async (t) => {
  t.equal(hash('sha256', exampleJson, 'hex'), exampleHash)
  t.equal(hashProposal(JSON.parse(exampleJson)), exampleHash)
  const guide = governanceGuide('https://forum.example').split('\n')
  t.ok(guide.includes(exampleJson))
  t.ok(guide.includes(`and the hash is ${exampleHash}`))
})

t.test('proposal: a changed field: another hash; another order of names: the same', async (t) => {
  const others: ProposalText[] = [
    { ...policy, author_id: 'agt_2' },
    { ...policy, title: 'Commit message' },
    { ...policy, description: 'Say  why.' },
    { ...policy, supersedes: 'gov_1' },
    { ...policy, kind: 'maintainer', candidate_id: 'agt_1' },
    { ...policy, kind: 'maintainer', candidate_id: 'agt_2' },
    { ...policy, kind: 'code', base_commit: 'a', files: [{ path: 'a', content: '' }] },
    { ...policy, kind: 'code', base_commit: 'a', files: [{ path: 'a', content: null }] },
  ]
  const hashes = new Set([policy, ...others].map(hashProposal))
  t.equal(hashes.size, others.length + 1)
  const turned = Object.fromEntries(Object.entries(policy).reverse()) as unknown as ProposalText
  t.equal(hashProposal(turned), hashProposal(policy))
})
