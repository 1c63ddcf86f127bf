import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findOpenMode, loadOrCreateSecret, parseSecretKey, restrictSecretFile } from '../../../src/system/secret.ts'
import { createTemporaryFolder } from '../../support/gateway/test-gateway.ts'

t.test('creates the secret once, readable by its owner alone', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'secret.key')
  const secret = loadOrCreateSecret(file)
  t.equal(secret.length, 32)
  t.ok(loadOrCreateSecret(file).equals(secret))
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(readdirSync(folder), ['secret.key'])
})

t.test('makes a secret that others may read readable by its owner alone', (t) => {
  const file = join(createTemporaryFolder(t), 'secret.key')
  t.equal(restrictSecretFile(file), null, 'none yet')
  const secret = loadOrCreateSecret(file)
  t.equal(restrictSecretFile(file), null)
  for (const mode of [0o644, 0o640, 0o604, 0o660, 0o666]) {
    chmodSync(file, mode)
    t.equal(findOpenMode(file), mode.toString(8))
    t.match(restrictSecretFile(file), `could be read by other users of this machine (mode ${mode.toString(8)}); it is 600 now`)
    t.equal(statSync(file).mode & 0o777, 0o600)
  }
  t.equal(findOpenMode(file), null)
  t.ok(loadOrCreateSecret(file).equals(secret))
  t.end()
})

t.test('ignores a file left by a crashed process with the same pid', async (t) => {
  const file = join(createTemporaryFolder(t), 'secret.key')
  writeFileSync(`${file}.${process.pid}`, 'half')
  t.equal(loadOrCreateSecret(file).length, 32)
})

t.test('reports an unusable secret in a sentence', async (t) => {
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, 'short'), 'too short')
  t.throws(() => loadOrCreateSecret(join(folder, 'short')), {
    name: 'OperatorError',
    message: /is damaged: it must hold 32 bytes/,
  })
  mkdirSync(join(folder, 'folder'))
  t.throws(() => loadOrCreateSecret(join(folder, 'folder')), {
    name: 'OperatorError',
    message: /cannot be used: it is a folder \(EISDIR\)/,
  })
  t.throws(() => loadOrCreateSecret(join(folder, 'not', 'there')), { name: 'OperatorError', message: /cannot be used: .*ENOENT/ })
})

t.test('accepts 32 bytes in base64 and never repeats an invalid input', async (t) => {
  const secret = Buffer.alloc(32, 0xfb)
  const text = secret.toString('base64')
  for (const right of [text, text.replace('=', ''), ` ${text}\n`]) t.same(parseSecretKey(right), secret)
  for (const wrong of [
    '',
    'short',
    text.slice(4),
    `${text}AAAA`,
    `${text.slice(0, 20)}!${text.slice(21)}`,
    secret.toString('hex'),
  ]) {
    const refusal = /^SECRET_KEY must be 32 bytes in base64, as `openssl rand -base64 32` makes them\.$/
    t.throws(() => parseSecretKey(wrong), { name: 'OperatorError', message: refusal })
  }
})
