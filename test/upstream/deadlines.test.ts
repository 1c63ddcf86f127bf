/** The deadlines of a call with a clock that is a number. */
import t from 'tap'
import { Deadlines } from '../../src/upstream/deadlines.ts'
import type { DueDeadline } from '../../src/upstream/deadlines.ts'

const timeouts = {
  firstByteMs: 100,
  idleMs: 50,
  totalMs: 1_000,
  slowReaderMs: 200,
  heartbeatAfterMs: 30,
  heartbeatEveryMs: 40,
}

type Event = 'recordActivity' | 'recordSend' | 'recordBlocked' | 'recordDrain' | 'recordResume'

interface Row {
  readonly name: string
  /** Start of the turn if it began before this call. */
  readonly turnStartedAt?: number
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
  { name: 'the whole', told: [['recordActivity', 999]], at: 1_000, due: 'total' },
  {
    name: 'the whole is the turn’s, whichever call it is',
    turnStartedAt: -600,
    told: [['recordActivity', 399]],
    at: 400,
    due: 'total',
  },
  { name: 'the whole goes before all else', at: 1_000, due: 'total' },
  {
    name: 'the whole, half of which the client took nothing, was the upstream’s to use',
    told: [
      ['recordActivity', 1],
      ['recordBlocked', 100],
      ['recordDrain', 600],
      ['recordActivity', 999],
    ],
    at: 1_000,
    due: 'total',
  },
  {
    name: 'the whole, most of which the client took nothing, was the client’s',
    told: [
      ['recordActivity', 1],
      ['recordBlocked', 100],
      ['recordDrain', 601],
      ['recordActivity', 999],
    ],
    at: 1_000,
    due: 'slow_reader',
  },
  {
    name: 'also where it still takes nothing',
    told: [
      ['recordActivity', 1],
      ['recordBlocked', 100],
      ['recordDrain', 500],
      ['recordBlocked', 850],
    ],
    at: 1_000,
    due: 'slow_reader',
  },
]

for (const { name, turnStartedAt = 0, told = [], opened = false, at, due } of rows) {
  t.test(name, async (t) => {
    const deadlines = new Deadlines(timeouts, { startedAt: 0, turnStartedAt })
    for (const [event, when] of told) deadlines[event](when)
    t.equal(deadlines.findDue(at, opened), due)
  })
}
