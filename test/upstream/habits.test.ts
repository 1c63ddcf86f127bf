/** What a target has shown of itself: how it is asked, and what leaving it may take its word for. */
import t from 'tap'
import type { Candidate } from '../../src/exchange/exchange.ts'
import { Habits } from '../../src/upstream/habits.ts'
import type { Upstream } from '../../src/upstream/upstreams.ts'

const upstreamThat = (streams: boolean | 'auto') => ({ config: { streams } }) as unknown as Upstream
const chat: Candidate = { name: 'main/big', upstream: 'main', model: 'big', path: '/chat/completions', body: () => '' }
const auto = upstreamThat('auto')
const both = { stream: true, usage: true }
const refusal = (error: object, status = 400) =>
  ({ kind: 'status', status, contentType: 'application/json', retryAfter: null, body: JSON.stringify({ error }) }) as const

t.test('a stream with its usage is asked for, but where it cannot be', async (t) => {
  const habits = new Habits()
  t.same(habits.asking(chat, auto, 0), both)
  t.same(habits.asking(chat, upstreamThat(true), 0), both)
  t.same(habits.asking(chat, upstreamThat(false), 0), { stream: false, usage: false })
  t.same(habits.asking({ ...chat, path: '/images/generations' }, auto, 0), { stream: false, usage: false })
})

t.test('a field that is refused is left out, for as long as that is remembered', async (t) => {
  for (const [name, error, after] of [
    ['options by name', { message: 'Unrecognized request argument supplied: stream_options' }, { stream: true, usage: false }],
    ['options by field', { message: 'no', param: 'stream_options.include_usage' }, { stream: true, usage: false }],
    ['streams by field', { message: 'Your organization must be verified', param: 'stream' }, { stream: false, usage: false }],
    ['streams by words', { message: 'Streaming is not supported for this model.' }, { stream: false, usage: false }],
    ['streams by other words', { message: 'this model does not support streaming' }, { stream: false, usage: false }],
    ['nothing of ours', { message: "Unsupported value: 'temperature'", param: 'temperature' }, both],
    ['a prompt about streams', { message: 'Invalid message: "a stream of words"' }, both],
  ] as const) {
    const habits = new Habits()
    t.equal(habits.learns(chat.name, both, refusal(error), 0), after !== both, name)
    t.same(habits.asking(chat, auto, 1), after, name)
    t.same(habits.asking(chat, auto, 600_001), both, `${name}: it may have changed`)
    t.same(habits.asking({ ...chat, name: 'main/other' }, auto, 1), both, 'another target is another matter')
  }
  const habits = new Habits()
  const error = { message: 'Streaming is not supported.' }
  t.equal(
    habits.learns(chat.name, { stream: false, usage: false }, refusal(error), 0),
    false,
    'what was not asked was not refused',
  )
  t.equal(habits.learns(chat.name, both, refusal(error, 503), 0), false, 'a failure is no refusal')
  t.equal(habits.learns(chat.name, both, { kind: 'network', code: 'ECONNRESET' }, 0), false)
})

t.test('work is shown by a target whose output grew and was all that it reported', async (t) => {
  const habits = new Habits()
  const seen = (counted: number, charged: number, overMs: number) => {
    habits.streamed(chat.name, { counted, charged, overMs })
    return habits.work(chat, auto)
  }
  t.equal(habits.work(chat, auto), 'unknown')
  t.equal(habits.work(chat, upstreamThat(true)), 'shown')
  t.equal(seen(100, 100, 2_000), 'shown')
  t.equal(seen(3, 3, 0), 'shown', 'a word says nothing')
  t.equal(seen(100, 100, 5), 'unknown', 'all at once')
  t.equal(seen(100, 4_000, 2_000), 'hidden', 'it reports more than was seen')
  t.equal(seen(100, 110, 2_000), 'shown')
  habits.answeredWhole(chat.name)
  t.equal(habits.work(chat, auto), 'unknown')
})
