/** Splits bytes into events, wherever the network cuts them. */
import t from 'tap'
import { AnswerTooLargeError } from '../../../../src/codecs/answer-bounds.ts'
import { looksLikeEventStream, EventSplitter } from '../../../../src/upstream/response/sse.ts'

/** All data fields that result when `bytes` arrive in the given pieces. */
function events(pieces: readonly Buffer[]): string[] {
  const splitter = new EventSplitter()
  const out = pieces.flatMap((piece) => splitter.push(piece))
  const rest = splitter.end()
  return [...out, ...(rest === null ? [] : [rest])].map(({ data }) => data)
}

const table = [
  ['one event', 'data: a\n\n', ['a']],
  ['without a space', 'data:a\n\n', ['a']],
  ['only the first space goes', 'data:  a\n\n', [' a']],
  ['CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
  ['bare CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
  ['comments are skipped', ': keep-alive\n\n: x\n\ndata: a\n\n', ['a']],
  ['a comment inside an event', ': x\ndata: a\n\n', ['a']],
  ['several data lines are joined', 'data: a\ndata: b\n\n', ['a\nb']],
  ['other fields are skipped', 'event: x\nid: 1\nretry: 5\ndata: a\n\n', ['a']],
  ['blank lines between events', '\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n', ['a', 'b']],
  ['the last event without its blank line', 'data: a\n\ndata: b', ['a', 'b']],
  ['the last event with half of it', 'data: a\n\ndata: b\n', ['a', 'b']],
  ['characters of several bytes', 'data: 额度 🎉 é\n\n', ['额度 🎉 é']],
  ['a byte order mark before the first', '\uFEFFdata: a\n\ndata: b\n\n', ['a', 'b']],
  ['a byte order mark later is text', 'data: a\uFEFF\n\n', ['a\uFEFF']],
  ['a byte order mark alone', '\uFEFF', []],
  ['an empty data line', 'data: \n\n', ['']],
  ['nothing at all', '', []],
  ['a field of another name', 'datax: a\n\n', []],
] as const

t.test('returns the same events wherever the bytes are cut', async (t) => {
  for (const [name, text, expected] of table) {
    const bytes = Buffer.from(text)
    t.same(events([bytes]), expected, name)
    t.same(events([...bytes].map((byte) => Buffer.from([byte]))), expected, `${name}, byte by byte`)
    for (let at = 1; at < bytes.length; at++)
      t.same(events([bytes.subarray(0, at), bytes.subarray(at)]), expected, `${name}, cut at ${at}`)
  }
})

t.test('limits the memory of an event that never ends', async (t) => {
  const splitter = new EventSplitter()
  const piece = Buffer.alloc(1024 * 1024, 'x')
  let thrown: unknown
  try {
    for (let i = 0; i < 64; i++) splitter.push(piece)
  } catch (error) {
    thrown = error
  }
  t.ok(thrown instanceof AnswerTooLargeError)
})

t.test('takes linear time for a long event', async (t) => {
  const time = (pieces: number): number => {
    const splitter = new EventSplitter(32 * 1024 * 1024)
    const piece = Buffer.alloc(1024, 'x')
    const from = process.cpuUsage()
    for (let i = 0; i < pieces; i++) splitter.push(piece)
    t.equal(splitter.push(Buffer.from('\n\n')).length, 0)
    return process.cpuUsage(from).user / 1e3
  }
  // Quadratic time would make these sixteen megabytes take half a minute.
  const took = time(16_000)
  t.ok(took < 10_000, `${Math.round(took)} ms of the processor`)
})

t.test('recognizes an event named error', async (t) => {
  const splitter = new EventSplitter()
  const [first, second, third] = splitter.push(
    Buffer.from('event: error\ndata: {"message":"no"}\n\nevent: message\ndata: a\n\ndata: event: error\n\n'),
  )
  t.same(first, { data: '{"message":"no"}', isError: true })
  t.same(second, { data: 'a', isError: false })
  t.same(third, { data: 'event: error', isError: false })
})

t.test('replaces invalid UTF-8', async (t) => {
  const splitter = new EventSplitter()
  const [event] = splitter.push(Buffer.concat([Buffer.from('data: a'), Buffer.from([0xff, 0xc3]), Buffer.from('b\n\n')]))
  t.equal(event?.data, 'a\uFFFD\uFFFDb')
})

t.test('tells events from a document by the first bytes', async (t) => {
  for (const [bytes, expected] of [
    ['data: {"choices"', true],
    ['event: error\n', true],
    [': keep-alive\n', true],
    ['id: 1\n', true],
    ['\uFEFF\r\n data:', true],
    ['{"error":', false],
    ['\n [', false],
    ['<!DOCTYPE html>', false],
    ['\n', null],
    ['da', true],
    ['\n ret', true],
    ['database', null],
    ['error', null],
  ] as const)
    t.equal(looksLikeEventStream(Buffer.from(bytes)), expected, JSON.stringify(bytes))
})
