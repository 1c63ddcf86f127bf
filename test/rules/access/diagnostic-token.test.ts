import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createDiagnosticToken, diagnosticTokenLifetimeMs, isDiagnosticToken } from '../../../src/access/diagnostic-token.ts'

const now = Date.UTC(2026, 10, 24)
const secret = randomBytes(32)

t.test('accepts a token until it expires', async (t) => {
  const token = createDiagnosticToken(secret, now)
  t.ok(isDiagnosticToken(token, secret, now))
  t.ok(isDiagnosticToken(token, secret, now + diagnosticTokenLifetimeMs - 1))
  t.notOk(isDiagnosticToken(token, secret, now + diagnosticTokenLifetimeMs))
})

t.test('accepts the token of a command whose clock is ahead, within the lifetime', async (t) => {
  t.ok(isDiagnosticToken(createDiagnosticToken(secret, now + diagnosticTokenLifetimeMs), secret, now))
  t.notOk(isDiagnosticToken(createDiagnosticToken(secret, now + diagnosticTokenLifetimeMs + 1), secret, now))
})

t.test('refuses every other token', async (t) => {
  const token = createDiagnosticToken(secret, now)
  const [expires = '', mac = ''] = token.split('.')
  t.notOk(isDiagnosticToken(createDiagnosticToken(randomBytes(32), now), secret, now), 'of another installation')
  t.notOk(isDiagnosticToken(`${Number(expires) + 1}.${mac}`, secret, now), 'with another end')
  t.notOk(isDiagnosticToken(`${expires}.${'A'.repeat(43)}`, secret, now), 'with another signature')
  for (const text of [null, '', '.', `${expires}.`, mac, `${token}A`, `-${token}`, 'svc_live_made_up'])
    t.notOk(isDiagnosticToken(text, secret, now), String(text))
})
