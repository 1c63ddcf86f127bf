/** Codes that people type: how they are minted and parsed. */
import t from 'tap'
import { createIds } from '../../../../src/system/ids.ts'
import { maskIp, maskEmail } from '../../../../src/domain/identity/audit.ts'
import { mintUserCode, parseUserCode } from '../../../../src/domain/identity/device-login.ts'
import { hashEmailCode, mintEmailCode, isSameHash } from '../../../../src/domain/identity/email/email-otp.ts'
import { getSessionExpiry, looksLikeToken, mintToken } from '../../../../src/domain/identity/session.ts'

const bytes = (size: number): Uint8Array => createIds().bytes(size)

t.test('mints email codes of six uniformly distributed digits', async (t) => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 20_000; i++) {
    const code = mintEmailCode(bytes)
    if (!/^\d{6}$/.test(code)) t.fail(code)
    counts.set(code[0] ?? '', (counts.get(code[0] ?? '') ?? 0) + 1)
  }
  // The expectation is 2 000 each; 300 is seven standard deviations.
  for (let digit = 0; digit < 10; digit++) t.ok(Math.abs((counts.get(String(digit)) ?? 0) - 2_000) < 300, `first digit ${digit}`)
  const script = [Uint8Array.of(255, 255, 255), Uint8Array.of(0, 0, 7)]
  t.equal(
    mintEmailCode(() => script.shift() ?? new Uint8Array(3)),
    '000007',
    'a number beyond the last whole million is thrown away',
  )
})

t.test("binds a code's hash to browser, address and installation", async (t) => {
  const hash = (secret: number, browser: string, address: string, code: string): Buffer =>
    hashEmailCode(Buffer.alloc(32, secret), Buffer.from(browser), address, code)
  const right = hash(1, 'b', 'a@example.com', '123456')
  t.ok(isSameHash(right, hash(1, 'b', 'a@example.com', '123456')))
  for (const other of [
    hash(2, 'b', 'a@example.com', '123456'),
    hash(1, 'c', 'a@example.com', '123456'),
    hash(1, 'b', 'b@example.com', '123456'),
    hash(1, 'b', 'a@example.com', '123457'),
  ]) {
    t.notOk(isSameHash(right, other))
  }
  t.notOk(isSameHash(right, Buffer.alloc(3)), 'a hash of another length never matches')
})

t.test('mints user codes of eight consonants and accepts any spelling of them', async (t) => {
  for (let i = 0; i < 500; i++) t.match(mintUserCode(bytes), /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'B.C.D.F-G.H.J.K', 'bcdf–ghjk']) {
    t.equal(parseUserCode(typed), 'BCDF-GHJK', typed)
  }
  for (const typed of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'BCDF-GHJA', 'BCDF-GHJ1', 'x'.repeat(1_000), "' or 1=1 --"]) {
    t.equal(parseUserCode(typed), null, typed.slice(0, 20))
  }
})

t.test('mints tokens of 256 bits', async (t) => {
  const token = mintToken(bytes)
  t.match(token, /^[\w-]{43}$/)
  t.ok(looksLikeToken(token))
  t.not(mintToken(bytes), token)
  for (const text of ['', token.slice(1), `${token}x`, token.replace(/.$/, '.'), `${token}\n`]) t.notOk(looksLikeToken(text))
})

t.test('a session ends at the earlier of its two limits', async (t) => {
  const day = 86_400_000
  t.equal(getSessionExpiry({ kind: 'web', lastUsedAt: 0, expiresAt: 30 * day }), 7 * day)
  t.equal(getSessionExpiry({ kind: 'web', lastUsedAt: 29 * day, expiresAt: 30 * day }), 30 * day)
  t.equal(getSessionExpiry({ kind: 'cli', lastUsedAt: 0, expiresAt: 90 * day }), 30 * day)
})

t.test('masks addresses for the log', async (t) => {
  t.equal(maskIp('203.0.113.77'), '203.0.113.x')
  t.equal(maskIp('2001:db8:1:2:3:4:5:6'), '2001:db8:1::x')
  t.equal(maskIp('::1'), '::x')
  t.equal(maskEmail('ann@example.com'), 'a***@example.com')
  t.equal(maskEmail(null), null)
})
