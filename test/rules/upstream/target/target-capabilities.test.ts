/** What is known of a target: how it is called, and what a disconnect costs. */
import t from 'tap'
import type { Candidate } from '../../../../src/exchange/exchange.ts'
import { TargetCapabilities } from '../../../../src/upstream/target/target-capabilities.ts'
import type { Upstream } from '../../../../src/upstream/target/upstreams.ts'

const upstreamWith = (streams: boolean | 'auto') => ({ config: { streams } }) as unknown as Upstream
const chat: Candidate = { name: 'main/big', upstream: 'main', model: 'big', path: '/chat/completions', body: () => ({}) }
const auto = upstreamWith('auto')
const member = { stream: false, choices: 1 }
const whole = { stream: false, includeUsage: false }
const both = { stream: true, includeUsage: true }
const refusal = (error: object, status = 400) =>
  ({ kind: 'status', status, contentType: 'application/json', retryAfter: null, body: JSON.stringify({ error }) }) as const

t.test('requests a stream with usage unless the target cannot', async (t) => {
  const capabilities = new TargetCapabilities()
  t.same(capabilities.chooseRequestMode(chat, auto, member, 0), both)
  t.same(capabilities.chooseRequestMode(chat, upstreamWith(true), member, 0), both)
  t.same(capabilities.chooseRequestMode(chat, upstreamWith(false), member, 0), whole)
  t.same(capabilities.chooseRequestMode(chat, upstreamWith(false), { ...member, stream: true }, 0), both, 'as the member asked')
  t.same(capabilities.chooseRequestMode(chat, auto, { stream: false, choices: 2 }, 0), whole, 'several choices')
  t.same(capabilities.chooseRequestMode(chat, auto, { stream: true, choices: 2 }, 0), both)
  t.same(capabilities.chooseRequestMode({ ...chat, path: '/images/generations' }, auto, member, 0), {
    stream: false,
    includeUsage: false,
  })
})

t.test('requests whole responses whole after a stream that held nothing', async (t) => {
  const capabilities = new TargetCapabilities()
  capabilities.recordEmptyStream(chat.name, 0)
  t.same(capabilities.chooseRequestMode(chat, auto, member, 1), whole)
  t.same(capabilities.chooseRequestMode(chat, auto, { ...member, stream: true }, 1), both)
  t.same(capabilities.chooseRequestMode(chat, auto, member, 600_001), both)
})

t.test('leaves out a rejected field for as long as the rejection is remembered', async (t) => {
  for (const [name, error, after] of [
    [
      'options by name',
      { message: 'Unrecognized request argument supplied: stream_options' },
      { stream: true, includeUsage: false },
    ],
    ['options by field', { message: 'no', param: 'stream_options.include_usage' }, { stream: true, includeUsage: false }],
    [
      'streams by field',
      { message: 'Your organization must be verified', param: 'stream' },
      { stream: false, includeUsage: false },
    ],
    ['streams by words', { message: 'Streaming is not supported for this model.' }, { stream: false, includeUsage: false }],
    ['streams by other words', { message: 'this model does not support streaming' }, { stream: false, includeUsage: false }],
    ['nothing of ours', { message: "Unsupported value: 'temperature'", param: 'temperature' }, both],
    ['a prompt about streams', { message: 'Invalid message: "a stream of words"' }, both],
  ] as const) {
    const capabilities = new TargetCapabilities()
    t.equal(capabilities.recordRejection(chat.name, both, refusal(error), 0), after !== both, name)
    t.same(capabilities.chooseRequestMode(chat, auto, member, 1), after, name)
    t.same(capabilities.chooseRequestMode(chat, auto, member, 600_001), both, `${name}: the target may have changed`)
    t.same(capabilities.chooseRequestMode({ ...chat, name: 'main/other' }, auto, member, 1), both, 'another target is unaffected')
  }
  const capabilities = new TargetCapabilities()
  const error = { message: 'Streaming is not supported.' }
  t.equal(
    capabilities.recordRejection(chat.name, { stream: false, includeUsage: false }, refusal(error), 0),
    false,
    'a field that was not sent was not rejected',
  )
  t.equal(capabilities.recordRejection(chat.name, both, refusal(error, 503), 0), false, 'a failure is no rejection')
  t.equal(capabilities.recordRejection(chat.name, both, { kind: 'network', code: 'ECONNRESET' }, 0), false)
})

t.test('treats output as visible if it grew and was all that was reported', async (t) => {
  const capabilities = new TargetCapabilities()
  const seen = (countedTokens: number, chargedTokens: number, durationMs: number) => {
    capabilities.recordStream(chat.name, { countedTokens, chargedTokens, durationMs })
    return capabilities.getVisibility(chat, auto)
  }
  t.equal(capabilities.getVisibility(chat, auto), 'unknown')
  t.equal(capabilities.getVisibility(chat, upstreamWith(true)), 'visible')
  t.equal(seen(100, 100, 2_000), 'visible')
  t.equal(seen(3, 3, 0), 'visible', 'a single word proves nothing')
  t.equal(seen(100, 100, 5), 'unknown', 'all at once')
  t.equal(seen(100, 4_000, 2_000), 'hidden', 'it reports more than was visible')
  t.equal(seen(100, 110, 2_000), 'visible')
  capabilities.recordWholeResponse(chat.name)
  t.equal(capabilities.getVisibility(chat, auto), 'unknown')
})
