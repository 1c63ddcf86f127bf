import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSecret, parseSecretKey } from '../../src/system/secret.ts'
import { temporaryFolder } from '../support/gateway.ts'

t.test('it is made once, for its owner alone', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'secret.key')
  const secret = openSecret(file)
  t.equal(secret.length, 32)
  t.ok(openSecret(file).equals(secret))
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(readdirSync(folder), ['secret.key'])
})

t.test('what a crash left behind is not in the way of a process with the same number', async (t) => {
  const file = join(temporaryFolder(t), 'secret.key')
  writeFileSync(`${file}.${process.pid}`, 'half')
  t.equal(openSecret(file).length, 32)
})

t.test('one that cannot be used is told in a sentence', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'short'), 'too short')
  t.throws(() => openSecret(join(folder, 'short')), { name: 'Unusable', message: /is damaged: it must hold 32 bytes/ })
  mkdirSync(join(folder, 'folder'))
  t.throws(() => openSecret(join(folder, 'folder')), { name: 'Unusable', message: /cannot be used: it is a folder \(EISDIR\)/ })
  t.throws(() => openSecret(join(folder, 'not', 'there')), { name: 'Unusable', message: /cannot be used: .*ENOENT/ })
})

t.test('one that is given is 32 bytes in base64, and what is not is never repeated', async (t) => {
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
    t.throws(() => parseSecretKey(wrong), { name: 'Unusable', message: refusal })
  }
})
