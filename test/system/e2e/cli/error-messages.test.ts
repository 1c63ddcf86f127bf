/** The real command in a real terminal against the real gateway: how each failure of the service is displayed. */
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { openTerminal } from '../../../support/cli/terminal.ts'

const spent = { day: 1, week: 1, month: 1 }

t.test('shows each failure as a sentence, the next step, and the Ref line as the last line', async (t) => {
  const { url, createMember } = await startGateway(t, {
    plans: { free: { rpm: 1 }, pro: { pools: { fast: spent, premium: spent } } },
  })
  const terminal = await openTerminal(t, { SVC_SITE_URL: url })
  if (terminal === undefined) return
  const max = (await createMember()).token
  const poor = (await createMember('pro')).token
  const slow = (await createMember('free')).token
  const demo = (script: unknown) => `demo:${JSON.stringify(script)}`
  const error = (code: string, message: string) => ({ error: { code, message, type: 'invalid_request_error', param: null } })

  const cases: readonly FailureCase[] = [
    { code: 'sign_in_required', key: 'svc_live_nonsense', says: 'auth · HTTP 401', does: 'run: svc login', exit: 4 },
    { code: 'official_models_only', words: '-m gpt-4', says: 'validation · HTTP 400', does: 'svc models', exit: 1 },
    { code: 'quota_exceeded', key: poor, says: 'quota · HTTP 402', does: 'svc plans', exit: 6 },
    { code: 'upstream_error', ask: demo({ status: 500 }), says: 'upstream · HTTP 502 · up=500', does: 'try again', exit: 7 },
    {
      code: 'upstream_rate_limited',
      ask: demo({ status: 429 }),
      says: 'upstream · HTTP 429 · up=429',
      does: 'try again',
      exit: 7,
    },
    {
      code: 'upstream_not_configured',
      ask: demo({ status: 401 }),
      says: 'upstream · HTTP 503 · up=401',
      does: "service's operator",
      exit: 7,
    },
    {
      code: 'upstream_model_unavailable',
      ask: demo({ status: 404, body: error('model_not_found', 'The model does not exist') }),
      says: 'upstream · HTTP 502 · up=404',
      does: 'another model',
      exit: 7,
    },
    {
      code: 'context_length_exceeded',
      ask: demo({ status: 400, body: error('context_length_exceeded', "This model's maximum context length is 8192 tokens.") }),
      says: 'validation · HTTP 400 · up=400',
      does: 'send less text',
      exit: 1,
    },
    {
      code: 'rate_limited',
      key: slow,
      before: 'svc models >/dev/null;',
      says: 'rate_limit · HTTP 429',
      does: 'try again',
      exit: 7,
    },
  ]
  for (const { code, key = max, ask = 'hello', words = '-m svc-2.1', before = '', says, does, exit } of cases) {
    await terminal.run(`export SVC_API_KEY=${key}; ${before} true`)
    const { output, exitCode: ended } = await terminal.run(`svc chat ${words} '${ask.replaceAll("'", `'\\''`)}'`)
    const lines = output.trimEnd().split('\n')
    t.equal(ended, exit, `${code}: exit code`)
    t.match(lines.at(-1), new RegExp(`^Ref: mbr_[0-9A-Z]{26} · ${code} · stage=${says}$`), code)
    t.match(
      lines.find((line) => line.startsWith('error: ')),
      /^error: \S.*/,
      `${code}: a sentence`,
    )
    t.match(output, does, `${code}: what to do`)
    t.match(output, `explained at: ${url}/docs/errors#${code}`, `${code}: where it is explained`)
    t.equal(output.includes('svc login'), code === 'sign_in_required', `${code}: login is suggested only where it helps`)
  }
})

t.test('keeps the text of a stream that breaks, shows the failure and costs nothing', async (t) => {
  const { url, createMember, listTurns } = await startGateway(t)
  const terminal = await openTerminal(t, { SVC_SITE_URL: url })
  if (terminal === undefined) return
  const { id, token } = await createMember()
  const { output, exitCode } = await terminal.run(
    `SVC_API_KEY=${token} svc chat --raw 'demo:{"text":"these words came","reset":{"afterEvents":4}}'`,
  )
  t.equal(exitCode, 7)
  t.match(output, /^these/m)
  t.match(output, /^Ref: mbr_[0-9A-Z]{26} · upstream_error · stage=upstream · HTTP 502 · up=200$/m)
  t.match(await listTurns(id), [{ state: 'refunded', credits: 0 }])
})

interface FailureCase {
  readonly code: string
  readonly key?: string
  readonly ask?: string
  readonly words?: string
  readonly before?: string
  /** The end of the Ref line. */
  readonly says: string
  /** Part of a hint. */
  readonly does: string
  readonly exit: number
}
