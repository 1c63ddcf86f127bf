/** Passwords: how they are stored, which are accepted, and the cost of a flood of them. */
import t from 'tap'
import { isCommonPassword } from '../../../../../src/domain/identity/passwords/common-passwords.ts'
import { checkPassword } from '../../../../../src/domain/identity/passwords/password.ts'
import { PasswordHasher } from '../../../../../src/domain/identity/passwords/password-hasher.ts'
import { decoyHash, hashPassword, verifyPassword } from '../../../../../src/domain/identity/passwords/password.ts'
import { TooManyAttempts } from '../../../../../src/domain/identity/limits/attempt-limits.ts'

t.test('a stored password reveals its parameters and nothing else', async (t) => {
  const stored = await hashPassword('violet teapot orbit')
  t.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  t.not(stored, await hashPassword('violet teapot orbit'), 'salted')
  t.same(await verifyPassword('violet teapot orbit', stored), { ok: true, rehash: false })
  t.same(await verifyPassword('violet teapot orbiT', stored), { ok: false, rehash: false })
  t.same(await verifyPassword('violet teapot orbit ', stored), { ok: false, rehash: false }, 'every character counts')
  const long = 'é'.repeat(128)
  t.ok((await verifyPassword(long, await hashPassword(long))).ok)
  t.notOk((await verifyPassword(long.slice(0, 127), await hashPassword(long))).ok, 'no character is truncated')
  t.same(await verifyPassword('x', 'nonsense'), { ok: false, rehash: false })
})

const client = { network: '192.0.2.1', isKnownDevice: false }

t.test('unknown accounts are compared with a hash that costs as much as a stored one', async (t) => {
  const withoutSecrets = (hash: string) => hash.replace(/[\w+/]{22}\$[\w+/]{43}$/, '')
  t.equal(withoutSecrets(decoyHash), withoutSecrets(await hashPassword('violet teapot orbit')))
  const hasher = new PasswordHasher({ maxConcurrent: 1, maxPending: 0 })
  t.same(await hasher.verify('violet teapot orbit', null, client), { ok: false, rehash: false })
})

t.test('a hash with other parameters requests a rehash', async (t) => {
  const weaker = '$argon2id$v=19$m=8192,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$'
  const { argon2Sync } = await import('node:crypto')
  const tag = argon2Sync('argon2id', {
    message: Buffer.from('violet teapot orbit'),
    nonce: Buffer.from('c29tZXNhbHRzb21lc2FsdA', 'base64'),
    tagLength: 32,
    memory: 8192,
    passes: 1,
    parallelism: 1,
  })
  const stored = weaker + Buffer.from(tag).toString('base64').replaceAll('=', '')
  t.same(await verifyPassword('violet teapot orbit', stored), { ok: true, rehash: true })
})

t.test('refuses common passwords', async (t) => {
  for (const common of [
    'password',
    'Password1',
    'p@$$w0rd',
    'P@ssw0rd123!',
    'qwertyuiop',
    'qwerty123',
    '1q2w3e4r5t',
    '1qaz2wsx',
    'zaq12wsx',
    'asdfasdf',
    'asdfghjkl',
    '12345678',
    '123456789',
    '1234567890',
    '87654321',
    '00000000',
    '12121212',
    '123123123',
    '19870615',
    '31121999',
    'iloveyou',
    'iloveyou2',
    'sunshine1',
    'princess123',
    'Football2024',
    'welcome1!',
    'letmein123',
    'dragondragon',
    'trustno1!!',
    'abcdefgh',
    'abc12345',
    'superman99',
    'summer2026!',
    'changeme',
    'woaini1314',
  ]) {
    t.ok(isCommonPassword(common), common)
  }
  for (const fine of [
    'violet teapot orbit',
    'correct horse battery',
    'xk7-Qm2!vv',
    'dragonfruit lamp',
    '84719265',
    'тихийчайник',
  ]) {
    t.notOk(isCommonPassword(fine), fine)
  }
})

t.test('counts length in code points', async (t) => {
  t.equal(checkPassword('🫖🛰️🪴🦊', 'a@example.com'), 'short')
  t.equal(checkPassword('abcdefg', 'a@example.com'), 'short')
  t.equal(checkPassword('🫖🦊🐙🌵🍋🎈🪴🚲', 'a@example.com'), 'good')
  t.equal(checkPassword('🦊'.repeat(60) + '🐙'.repeat(60) + '🌵'.repeat(8), 'a@example.com'), 'good')
  t.equal(checkPassword('ab!'.repeat(43), 'a@example.com'), 'long')
  t.equal(checkPassword('x'.repeat(1_000_000), 'a@example.com'), 'long')
  t.equal(checkPassword('longlocalpart', 'longlocalpart@example.com'), 'common', 'the local part of the address')
  t.equal(checkPassword('ababababab', 'a@example.com'), 'common')
})

t.test('computes a few hashes at once, queues some and refuses the rest', async (t) => {
  const work = new PasswordHasher({ maxConcurrent: 1, maxPending: 2 })
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => work.hash('violet teapot orbit', client)))
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
  const refused = results.filter((result) => result.status === 'rejected')
  t.equal(refused.length, 3)
  t.ok(refused.every(({ reason }) => reason instanceof TooManyAttempts && reason.retryAfterMs > 0))
  t.ok(await work.hash('violet teapot orbit', client), 'accepts hashes again afterwards')
})

t.test('the event loop runs while hashes are computed', async (t) => {
  const work = new PasswordHasher({ maxConcurrent: 2, maxPending: 64 })
  let turns = 0
  let running = true
  const count = (): void => {
    turns += 1
    if (running) setImmediate(count)
  }
  setImmediate(count)
  await Promise.all(Array.from({ length: 4 }, () => work.verify('violet teapot orbit', null, client)))
  running = false
  t.ok(turns > 20, `${turns} turns`)
})
