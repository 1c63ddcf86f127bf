/** The file of sessions: its permissions, and the handling of damaged and unwritable files. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { CredentialStore } from '../../../../src/cli/user-config/credentials.ts'
import { toCleanCommand } from '../../../runner/clean-command.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

const session = { token: 'svc_sess_x', apiOrigin: 'https://a.example', signedInAt: 1 }

function store(t: Test) {
  const home = t.testdir()
  return new CredentialStore({ variables: { XDG_CONFIG_HOME: home }, platform: 'linux', home })
}

t.test('stores a session in a 0600 file in a 0700 folder, for one origin', async (t) => {
  const sessions = store(t)
  sessions.save('https://a.example', session)
  t.equal(statSync(sessions.path).mode & 0o777, 0o600)
  t.equal(statSync(dirname(sessions.path)).mode & 0o777, 0o700)
  t.strictSame(sessions.read('https://a.example'), session)
  t.equal(sessions.read('https://b.example'), undefined)
  t.equal(sessions.read('http://a.example'), undefined, 'another scheme is another origin')
})

t.test('storing or removing a session leaves those of other sites', async (t) => {
  const sessions = store(t)
  sessions.save('https://a.example', session)
  sessions.save('https://b.example', { ...session, token: 'svc_sess_y' })
  t.equal(sessions.remove('https://a.example'), true)
  t.equal(sessions.remove('https://a.example'), false)
  t.equal(sessions.read('https://b.example')?.token, 'svc_sess_y')
})

t.test('writes the file whole and leaves no temporary file', async (t) => {
  const sessions = store(t)
  sessions.save('https://a.example', session)
  sessions.save('https://a.example', { ...session, token: 'svc_sess_z' })
  t.strictSame(readdirSync(dirname(sessions.path)), ['credentials.json'])
  t.match(readFileSync(sessions.path, 'utf8'), 'svc_sess_z')
})

t.test('removes other users’ access to the file', async (t) => {
  const sessions = store(t)
  sessions.save('https://a.example', session)
  chmodSync(sessions.path, 0o644)
  sessions.read('https://a.example')
  t.equal(statSync(sessions.path).mode & 0o777, 0o600)
})

t.test('reports an unreadable file and does not overwrite it', async (t) => {
  const sessions = store(t)
  mkdirSync(dirname(sessions.path), { recursive: true })
  for (const text of ['{', '[]', '{"sites":7}', '']) {
    writeFileSync(sessions.path, text, { mode: 0o600 })
    t.throws(() => sessions.save('https://a.example', session), { code: 'credentials_unreadable' }, text)
    t.equal(readFileSync(sessions.path, 'utf8'), text)
  }
})

t.test('an unwritable folder is a failure that names the file', async (t) => {
  const home = t.testdir({ file: 'not a folder' })
  const sessions = new CredentialStore({ variables: { XDG_CONFIG_HOME: join(home, 'file') }, platform: 'linux', home })
  t.throws(() => sessions.save('https://a.example', session), { code: /^file_un/ })
  t.notOk(existsSync(sessions.path))
})

const isRoot = process.getuid?.() === 0

t.test('reads a file of another owner, whose mode cannot be changed', { skip: !isRoot && 'needs root' }, async (t) => {
  const folder = createTemporaryFolder(t)
  const sessions = new CredentialStore({ variables: { XDG_CONFIG_HOME: folder }, platform: 'linux', home: folder })
  sessions.save('https://a.example', session)
  for (const [path, mode] of [
    [folder, 0o755],
    [dirname(sessions.path), 0o755],
    [sessions.path, 0o644],
  ] as const)
    chmodSync(path, mode)
  process.seteuid?.(65534)
  try {
    t.strictSame(sessions.read('https://a.example'), session)
  } finally {
    process.seteuid?.(0)
  }
})

t.test('a disk that accepts only a part leaves the sessions unchanged', async (t) => {
  const folder = createTemporaryFolder(t)
  const environment = { variables: { XDG_CONFIG_HOME: folder }, platform: 'linux', home: folder } as const
  const sessions = new CredentialStore(environment)
  sessions.save('https://a.example', session)
  const program = `
    import { CredentialStore } from ${JSON.stringify(new URL('../../../../src/cli/user-config/credentials.ts', import.meta.url).href)}
    new CredentialStore(${JSON.stringify(environment)}).save('https://b.example', { ...${JSON.stringify(session)}, token: 'x'.repeat(100_000) })
  `
  // In blocks of 512 or 1024 bytes, depending on the shell: less than the file, and more than nothing.
  const [bare, all] = toCleanCommand(process.execPath, ['--input-type=module', '--eval', program])
  const { status, signal } = spawnSync('sh', ['-c', 'ulimit -f 40; exec "$0" "$@"', bare, ...all])
  t.ok(status !== 0 || signal !== null)
  t.strictSame(sessions.read('https://a.example'), session)
})
