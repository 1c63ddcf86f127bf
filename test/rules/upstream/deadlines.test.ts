/** The deadlines of a call with a clock that is a number. */
import t from 'tap'
import { Deadlines } from '../../../src/upstream/deadlines.ts'
import type { DueDeadline } from '../../../src/upstream/deadlines.ts'

const timeouts = {
  firstByteMs: 100,
  idleMs: 50,
  totalMs: 1_000,
  slowReaderMs: 200,
  heartbeatAfterMs: 30,
  heartbeatEveryMs: 40,
}

type Event = 'recordHead' | 'recordActivity' | 'recordOutput' | 'recordSend' | 'recordBlocked' | 'recordDrain' | 'recordResume'

interface Row {
  readonly name: string
  /** How long the turn has lasted. */
  readonly turnMs?: number
  readonly told?: readonly (readonly [Event, number])[]
  readonly opened?: boolean
  readonly at: number
  readonly due: DueDeadline | null
}

const rows: readonly Row[] = [
  { name: 'at the beginning nothing is due', at: 0, due: null },
  { name: 'a client that has heard nothing is kept', at: 30, due: 'heartbeat' },
  { name: 'but not before its time', at: 29, due: null },
  { name: 'one whose stream is open is kept in another time', opened: true, at: 39, due: null },
  { name: 'which comes too', opened: true, at: 40, due: 'heartbeat' },
  { name: 'whatever it was sent counts as a comment would', told: [['recordSend', 20]], at: 49, due: null },
  { name: 'and no longer than one', told: [['recordSend', 20]], at: 50, due: 'heartbeat' },
  { name: 'no byte in its time', told: [['recordSend', 99]], at: 99, due: null },
  { name: 'no byte', told: [['recordSend', 99]], at: 100, due: 'first_byte' },
  { name: 'a byte, and then silence', told: [['recordActivity', 90]], at: 140, due: 'idle' },
  {
    name: 'a head alone does not begin the answer',
    told: [
      ['recordHead', 10],
      ['recordSend', 99],
    ],
    at: 99,
    due: null,
  },
  { name: 'which must begin in its time', told: [['recordHead', 10]], at: 100, due: 'first_byte' },
  {
    name: 'a late head gives the answer as long as a silence may be',
    told: [
      ['recordHead', 90],
      ['recordSend', 120],
    ],
    at: 139,
    due: null,
  },
  { name: 'and no longer', told: [['recordHead', 90]], at: 140, due: 'first_byte' },
  {
    name: 'a word before the silence was too long',
    told: [
      ['recordActivity', 90],
      ['recordActivity', 130],
      ['recordSend', 130],
    ],
    at: 159,
    due: null,
  },
  {
    name: 'silence while the client takes nothing is no silence',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
    ],
    at: 200,
    due: null,
  },
  {
    name: 'and no comment is sent into what is not taken',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
    ],
    at: 100,
    due: null,
  },
  {
    name: 'but a client that takes nothing for too long has left',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
    ],
    at: 220,
    due: 'slow_reader',
  },
  {
    name: 'counted from when it stopped',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
      ['recordBlocked', 100],
    ],
    at: 220,
    due: 'slow_reader',
  },
  {
    name: 'after a wait of ours the upstream has its whole time again',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
      ['recordDrain', 150],
      ['recordResume', 150],
      ['recordSend', 150],
    ],
    at: 179,
    due: null,
  },
  {
    name: 'and no more than that',
    told: [
      ['recordActivity', 10],
      ['recordBlocked', 20],
      ['recordDrain', 150],
      ['recordResume', 150],
      ['recordSend', 190],
    ],
    at: 200,
    due: 'idle',
  },
  {
    name: 'a comment that was not taken is no first byte',
    told: [
      ['recordSend', 30],
      ['recordBlocked', 30],
      ['recordDrain', 60],
      ['recordResume', 60],
      ['recordSend', 99],
    ],
    at: 100,
    due: 'first_byte',
  },
  {
    name: 'the first byte is awaited also where the client does not take its comments',
    told: [['recordBlocked', 30]],
    at: 100,
    due: 'first_byte',
  },
  { name: 'the total time', turnMs: 1_000, told: [['recordActivity', 999]], at: 999, due: 'total' },
  {
    name: 'the total time of the turn, whichever call it is',
    turnMs: 1_000,
    told: [['recordActivity', 40]],
    at: 40,
    due: 'total',
  },
  { name: 'the total time before all else', turnMs: 1_000, at: 1_000, due: 'total' },
  { name: 'the total time while the client takes nothing', turnMs: 1_000, told: [['recordBlocked', 10]], at: 999, due: 'total' },
]

for (const { name, turnMs = 0, told = [], opened = false, at, due } of rows) {
  t.test(name, async (t) => {
    const deadlines = new Deadlines(timeouts, 0)
    for (const [event, when] of told) deadlines[event](when)
    t.equal(deadlines.findDue(at, { turnMs, isStreamOpen: opened }), due)
  })
}

t.test('counts an upstream as silent that produces no output while the client reads', async (t) => {
  const isSilent = (told: readonly (readonly [Event, number])[], at: number): boolean => {
    const deadlines = new Deadlines(timeouts, 0)
    for (const [event, when] of told) deadlines[event](when)
    return deadlines.isUpstreamSilent(at)
  }
  t.equal(isSilent([], 49), false)
  t.equal(isSilent([], 50), true, 'from the start on')
  t.equal(isSilent([['recordOutput', 30]], 79), false)
  t.equal(isSilent([['recordOutput', 30]], 80), true)
  t.equal(isSilent([['recordActivity', 79]], 80), true, 'an event without output is no output')
  t.equal(isSilent([['recordBlocked', 10]], 500), false, 'not while the client takes nothing')
  const drained = [
    ['recordBlocked', 10],
    ['recordDrain', 400],
    ['recordResume', 400],
  ] as const
  t.equal(isSilent(drained, 449), false, 'and after that from the beginning')
  t.equal(isSilent(drained, 450), true)
})
