import t from 'tap'
import { isPathAllowed, rejectTexts, textBytesMax } from '../../../src/forum/governance/commands.ts'

const allowed = [
  'a',
  'README.md',
  'src/forum/keys.ts',
  'src/state/hash-key.ts',
  'docs/été 🙂.md',
  '.gitignore',
  '.github/workflows/check.yml',
  'environment/.environment',
  'monkey.ts',
  'a..b/...c',
  'src/secretary.ts',
]

const refused = [
  // Absolute paths, and paths with a segment that is empty, `.` or `..`.
  ...['', '/etc/passwd', 'a//b', 'a/', './a', 'a/.', '../a', 'a/../b', '..', '/'],
  // Forbidden characters.
  ...['a\\b', 'a\0', 'a\nb', 'a\u007f', 'a\u0085', 'C:a', 'a%2e', 'a?b', 'a#b'],
  // Git's own files, and installed packages.
  ...['.git', '.git/config', 'a/.git/hooks/x', '.GIT/config', '.git./config', '.git /config'],
  ...['node_modules/a', 'a/node_modules/b.js', 'Node_Modules/a'],
  // Files that usually contain secrets.
  ...['.env', '.env.local', 'app/.env.production', '.ENV', '.envrc'],
  ...['tls/server.key', 'cert.pem', 'store.p12', 'id_rsa', '.ssh/config', 'id_ed25519.pub'],
  ...['private-key.txt', 'api_keys.json', 'APIKey.txt'.toLowerCase()],
  ...['secrets.json', 'secrets/prod.txt', 'client_secret.json', 'Secret.yml', 'my.secret'],
  ...['credentials', 'aws-credentials.csv', '.git-credentials', '.aws/config', '.netrc', '.npmrc'],
]

for (const path of allowed) {
  t.test(`path: ${path}: allowed`, async (t) => t.equal(isPathAllowed(path), true))
}
for (const path of refused) {
  t.test(`path: ${JSON.stringify(path)}: refused`, async (t) => t.equal(isPathAllowed(path), false))
}

const texts = { title: 'a', description: 'b' }
const whole = (path: string, content: string | null) => ({ path, content })

t.test('texts: several rules violated: the first is reported', async (t) => {
  const nul = { title: '\0', description: 'b' }
  const long = 'x'.repeat(textBytesMax)
  t.equal(
    rejectTexts({ ...nul, files: [whole('../a', long), whole('../a', '')] })?.rejected,
    'invalid_path',
  )
  t.equal(
    rejectTexts({ ...nul, files: [whole('a', long), whole('a', '')] })?.rejected,
    'duplicate_path',
  )
  t.equal(
    rejectTexts({ ...nul, files: [whole('a', long), whole('A', '')] })?.rejected,
    'invalid_field',
  )
  t.equal(
    rejectTexts({ ...texts, files: [whole('a', long), whole('A', '')] })?.rejected,
    'too_large',
  )
  t.equal(rejectTexts({ ...texts, files: [whole('a', ''), whole('A', null)] }), null)
})

t.test('texts: a NUL in any of them: refused', async (t) => {
  t.equal(rejectTexts({ ...texts, description: 'a\0' })?.rejected, 'invalid_field')
  t.equal(rejectTexts({ ...texts, files: [whole('a', '\0')] })?.rejected, 'invalid_field')
  for (const edit of [
    { old_text: '\0', new_text: '' },
    { old_text: 'a', new_text: '\0' },
  ]) {
    t.equal(
      rejectTexts({ ...texts, files: [{ path: 'a', edits: [edit] }] })?.rejected,
      'invalid_field',
    )
  }
})

t.test('texts: 32 KiB of UTF-8 together: accepted; one byte more: refused', async (t) => {
  const rest = textBytesMax - 'abé'.length - 1
  const edits = [{ old_text: 'é', new_text: 'x'.repeat(rest - 10) }]
  const files = [{ path: 'long-path', edits }, whole('b', 'x'.repeat(10))]
  t.equal(rejectTexts({ ...texts, files }), null)
  t.equal(rejectTexts({ ...texts, files: [...files, whole('c', 'x')] })?.rejected, 'too_large')
})
