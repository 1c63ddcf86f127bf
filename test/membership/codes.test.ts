/** Codes that people type: how they are made, and what is taken for one. */
import t from 'tap'
import { createIds } from '../../src/system/ids.ts'
import { maskAddress, maskEmail } from '../../src/membership/audit.ts'
import { mintUserCode, toUserCode } from '../../src/membership/device-login.ts'
import { hashMailCode, mintMailCode, sameHash } from '../../src/membership/mail-code.ts'
import { endOf, looksLikeToken, mintToken } from '../../src/membership/session.ts'

const bytes = (size: number): Uint8Array => createIds().bytes(size)

t.test('mail codes are six digits, each as likely as any other', async (t) => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 20_000; i++) {
    const code = mintMailCode(bytes)
    if (!/^\d{6}$/.test(code)) t.fail(code)
    counts.set(code[0] ?? '', (counts.get(code[0] ?? '') ?? 0) + 1)
  }
  // 2 000 each is to be expected; seven standard deviations is 300.
  for (let digit = 0; digit < 10; digit++) t.ok(Math.abs((counts.get(String(digit)) ?? 0) - 2_000) < 300, `first digit ${digit}`)
  const script = [Uint8Array.of(255, 255, 255), Uint8Array.of(0, 0, 7)]
  t.equal(
    mintMailCode(() => script.shift() ?? new Uint8Array(3)),
    '000007',
    'a number beyond the last whole million is thrown away',
  )
})

t.test('a code hash is bound to browser, address and installation', async (t) => {
  const hash = (secret: number, browser: string, address: string, code: string): Buffer =>
    hashMailCode(Buffer.alloc(32, secret), Buffer.from(browser), address, code)
  const right = hash(1, 'b', 'a@example.com', '123456')
  t.ok(sameHash(right, hash(1, 'b', 'a@example.com', '123456')))
  for (const other of [
    hash(2, 'b', 'a@example.com', '123456'),
    hash(1, 'c', 'a@example.com', '123456'),
    hash(1, 'b', 'b@example.com', '123456'),
    hash(1, 'b', 'a@example.com', '123457'),
  ]) {
    t.notOk(sameHash(right, other))
  }
  t.notOk(sameHash(right, Buffer.alloc(3)), 'another length is another hash')
})

t.test('user codes are eight consonants, and taken however they are typed', async (t) => {
  for (let i = 0; i < 500; i++) t.match(mintUserCode(bytes), /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'B.C.D.F-G.H.J.K', 'bcdf–ghjk']) {
    t.equal(toUserCode(typed), 'BCDF-GHJK', typed)
  }
  for (const typed of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'BCDF-GHJA', 'BCDF-GHJ1', 'x'.repeat(1_000), "' or 1=1 --"]) {
    t.equal(toUserCode(typed), null, typed.slice(0, 20))
  }
})

t.test('secret tokens have 256 bits', async (t) => {
  const token = mintToken(bytes)
  t.match(token, /^[\w-]{43}$/)
  t.ok(looksLikeToken(token))
  t.not(mintToken(bytes), token)
  for (const text of ['', token.slice(1), `${token}x`, token.replace(/.$/, '.'), `${token}\n`]) t.notOk(looksLikeToken(text))
})

t.test('a session ends by the earlier of its two ends', async (t) => {
  const day = 86_400_000
  t.equal(endOf({ kind: 'web', lastUsedAt: 0, expiresAt: 30 * day }), 7 * day)
  t.equal(endOf({ kind: 'web', lastUsedAt: 29 * day, expiresAt: 30 * day }), 30 * day)
  t.equal(endOf({ kind: 'cli', lastUsedAt: 0, expiresAt: 90 * day }), 30 * day)
})

t.test('what the log keeps of an address', async (t) => {
  t.equal(maskAddress('203.0.113.77'), '203.0.113.x')
  t.equal(maskAddress('2001:db8:1:2:3:4:5:6'), '2001:db8:1::x')
  t.equal(maskAddress('::1'), '::x')
  t.equal(maskEmail('ann@example.com'), 'a***@example.com')
  t.equal(maskEmail(null), null)
})
