/**
 * Acknowledged data survives a power loss at any moment: strace records every write, sync and acknowledgement of a working server, and
 * the disk is reconstructed as it may be at any of these moments. Synchronised data is there; of the data written since, any
 * part. `POWER_CUTS` sets the number of moments per disk (default 20), `POWER_SEED` repeats them.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { EndingOrder } from '../../../../src/store/ledger/orders.ts'
import { readJournal } from '../../../../src/store/sqlite/process/settlement-journal.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { findProgram } from '../../../support/require-program.ts'
import { addAccount } from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const cuts = Number(process.env['POWER_CUTS'] ?? 20)
const seed = Number(process.env['POWER_SEED'] ?? Date.now() % 2 ** 31)
const sector = 512
/** Bytes of each write that strace prints. Only the journal's allocation is longer, and it is zeros. */
const shown = 65_536
const nothing = Buffer.alloc(0)

/** A system call, from line `begun` to line `done` of the trace. */
interface Call {
  readonly name: string
  readonly path: string
  readonly data: Buffer
  readonly offset: number
  readonly begun: number
  done: number
  isRefused: boolean
  /** On the WAL's read-only descriptor, by which the settlement journal flushes holds. */
  readonly isBeside: boolean
}

const isTraceable = spawnSync('strace', ['-qq', '--seccomp-bpf', '-f', '-o', '/dev/null', 'true']).status === 0
/** A missing program fails in CI; a forbidden system call skips the test. */
const isMissing = findProgram('strace') === undefined
const skip = !isTraceable && !(isMissing && process.env['CI'] === 'true') && 'needs strace, and leave to look at processes'

/** What strace makes of it; counted in each thread by itself. */
const disks = [
  { name: 'is slow', inject: ['fdatasync:delay_enter=3000'], fails: false },
  { name: 'now and then does not take the log', inject: ['fdatasync:error=EIO:when=3+4'], fails: true },
  // SQLite's own syncs: before a checkpoint, and at the end.
  { name: 'often fails when the log is taken in', inject: ['fsync:error=EIO:when=8+5'], fails: true },
  { name: 'takes nothing for a while', inject: ['fdatasync:error=EIO:when=4..9', 'fsync:error=EIO:when=8..12'], fails: true },
]

for (const { name, inject, fails } of disks)
  t.test(`whenever the power is cut, all that was promised to last is there: a disk that ${name}`, { skip }, async (t) => {
    t.comment(`POWER_SEED=${seed} POWER_CUTS=${cuts}`)
    const folder = createTemporaryFolder(t)
    const file = join(folder, 'store.db')
    const store = await openStoreAt(t, file)
    for (let index = 1; index <= 8; index++) await addAccount(store, index)
    await store.close()
    const before = readFileSync(file)
    const calls = trace(folder, file, inject)
    const log = calls.filter(({ path }) => path === `${file}-wal`)
    const journal = calls.find(({ path }) => path.startsWith(`${file}.settlements-`))?.path ?? ''
    const failures = calls.filter(({ isRefused }) => isRefused).length
    const saying = (word: string): readonly string[] =>
      calls.flatMap(({ name, data }) => (name === 'write' && data.toString().startsWith(word) ? [data.toString().trim()] : []))
    t.same(saying('wrong'), [], 'a refused operation may be retried')
    t.ok(log.filter(({ name }) => name === 'fdatasync').length > 10, 'the WAL was flushed')
    t.ok(log.filter(({ name, offset }) => name === 'pwrite64' && offset === 0).length > 5, 'and restarted')
    t.same([failures > 0, saying('trouble').length > 0], [fails, fails], `the disk failed ${failures} times`)
    const flushes = log.filter((call) => isSync(call) && !call.isBeside)
    const taken = calls.filter(({ path, name }) => path === file && name === 'pwrite64')
    const early = taken.filter(({ begun }) => flushes.some((flush) => flush.begun < begun && begun < flush.done))
    t.same([taken.length > 0, early.length], [true, 0], 'no checkpoint runs during a flush of the WAL')

    const random = randomOf(seed)
    // Half of them at critical moments: just before and just after a sync.
    const moments = calls.filter(isSync).flatMap(({ begun, done }) => [begun, done])
    const [first = 0, last = 0] = [calls[0]?.begun, calls.at(-1)?.begun]
    const lost: string[] = []
    let promised = 0
    for (let cut = 0; cut < cuts; cut++) {
      const moment = cut % 2 === 0 ? first + random(last - first) : (moments[random(moments.length)] ?? 0) + random(3)
      const part = [0, 1, 0.5, 0.05][random(4)] ?? 0
      const disk = join(folder, `cut${cut}`)
      mkdirSync(disk)
      const copy = join(disk, 'store.db')
      writeFileSync(copy, onDisk(calls, file, before, moment, part, random))
      writeFileSync(`${copy}-wal`, onDisk(calls, `${file}-wal`, nothing, moment, part, random))
      writeFileSync(`${copy}.settlements`, onDisk(calls, journal, nothing, moment, part, random))
      const said = calls.flatMap(({ name, data, begun }) => (name === 'write' && begun < moment ? [data.toString().trim()] : []))
      promised += said.length
      for (const what of missingOf(said, copy)) lost.push(`${what} (at ${moment} of ${last}, ${part})`)
      rmSync(disk, { recursive: true })
    }
    t.same(lost, [], `nothing is lost of ${promised} promises in ${cuts} cuts`)
  })

function missingOf(said: readonly string[], file: string): readonly string[] {
  const journaled = new Set(readJournal(`${file}.settlements`).map(endingOf))
  const missing = withRawDatabase(file, (db) => {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') return ['the pages agree']
    const turn = db.prepare<[string], { is: string }>(
      `select state || ' ' || id || iif(state = 'settled', ' ' || credits, '') as "is" from turn where id = ?`,
    )
    const account = db.prepare<[string], { is: string }>('select status as "is" from account where id = ?')
    const pack = db.prepare<[string], { is: string }>('select id as "is" from pack where id = ?')
    return said.filter((line) => {
      const [what = '', id = ''] = line.split(' ')
      if (what === 'created') return account.get(id) === undefined
      if (what === 'forgotten') return account.get(id)?.is !== 'deleted'
      if (what === 'granted') return pack.get(id) === undefined
      if (what !== 'settled' && what !== 'refunded') return false
      const found = turn.get(id)?.is
      // The next start writes a journaled settlement if its hold is there.
      return found !== line && !(found === `held ${id}` && journaled.has(line))
    })
  })
  return [...missing, ...verifyDatabaseFile(file).mismatches.map(({ detail }) => detail)]
}

function endingOf(order: EndingOrder): string {
  return order.kind === 'settle' ? `settled ${order.hold} ${order.credits}` : `refunded ${order.hold}`
}

/** The process's system calls on the database, its WAL and its journal, and its output. */
function trace(folder: string, file: string, inject: readonly string[]): readonly Call[] {
  const to = join(folder, 'trace')
  const node = [process.execPath, join(import.meta.dirname, '../../../support/store/sqlite/worker-process.ts'), 'power', file]
  const filters = [
    'signal=none',
    'trace=openat,pwrite64,write,ftruncate,fdatasync,fsync,unlink',
    ...inject.map((what) => `inject=${what}`),
  ]
  const options = ['-f', '-qq', '-y', '-xx', '-s', `${shown}`, '--seccomp-bpf', ...filters.flatMap((filter) => ['-e', filter])]
  const { status, stderr } = spawnSync('strace', [...options, '-o', to, ...node], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the process ended with ${status}: ${stderr}`)
  const lines = readFileSync(to, 'latin1').split('\n')
  rmSync(to)
  const calls: Call[] = []
  const waiting = new Map<string, Call>()
  const descriptors = new Descriptors()
  for (const [number, line] of lines.entries()) {
    if (descriptors.isOpening(line)) continue
    const [, thread = '', name = '', descriptor = '', path = '', rest = ''] =
      /^(\d+) +(\w+)\((?:(\d+)<|")([^">]*)[">](.*)$/.exec(line) ?? []
    if (name === '') {
      const [, resumed = '', answer] = /^(\d+) +<\.\.\. \w+ resumed>.* = (-?\d+)/.exec(line) ?? []
      const call = waiting.get(resumed)
      if (call !== undefined) finish(call, number, Number(answer))
      waiting.delete(resumed)
      continue
    }
    const [, data = '', size = '0', offset = '0'] = /^(?:, "([^"]*)"(?:\.\.\.)?)?(?:, (\d+))?(?:, (\d+))?/.exec(rest) ?? []
    const call: Call = {
      name,
      path: bytesIn(path).toString(),
      data: resized(bytesIn(data), data === '' ? 0 : Number(size)),
      offset: Number(name === 'ftruncate' ? size : offset),
      begun: number,
      done: Infinity,
      isRefused: false,
      isBeside: name === 'fdatasync' && descriptors.onlyRead(descriptor),
    }
    const isSaid = name === 'write' && /^[a-z]+ \S.*\n$/.test(call.data.toString())
    if (!isSaid && call.path !== file && call.path !== `${file}-wal` && !call.path.startsWith(`${file}.settlements-`)) continue
    calls.push(call)
    if (rest.endsWith('<unfinished ...>')) waiting.set(thread, call)
    else finish(call, number, Number(/ = (-?\d+)/.exec(rest)?.[1]))
  }
  return calls
}

/** Those on read-only descriptors. */
class Descriptors {
  readonly #reading = new Set<string>()
  /** Open mode of the file that each thread is opening. */
  readonly #openFlags = new Map<string, string>()

  isOpening(line: string): boolean {
    const [, thread = '', flags, answer = ''] = /^(\d+) +(?:openat\(.*", (\w+)|<\.\.\. openat resumed>)(.*)$/.exec(line) ?? []
    if (thread === '') return false
    if (flags !== undefined) this.#openFlags.set(thread, flags)
    const [, descriptor] = / = (\d+)</.exec(answer) ?? []
    if (descriptor === undefined) return true
    if (this.#openFlags.get(thread) === 'O_RDONLY') this.#reading.add(descriptor)
    else this.#reading.delete(descriptor)
    return true
  }

  onlyRead(descriptor: string): boolean {
    return this.#reading.has(descriptor)
  }
}

function finish(call: Call, number: number, answer: number): void {
  call.done = number
  call.isRefused = answer < 0
  const isAsAsked = call.isRefused ? isSync(call) : call.name !== 'pwrite64' || answer === call.data.length
  if (!isAsAsked) throw new Error(`${call.name} gave ${answer}`)
}

function isSync({ name }: Call): boolean {
  return name.endsWith('sync')
}

function bytesIn(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex')
}

/** The file as it may be after a power loss at that moment, with this part of the unsynchronised writes. */
function onDisk(
  calls: readonly Call[],
  path: string,
  before: Buffer,
  moment: number,
  part: number,
  random: (below: number) => number,
): Buffer {
  const mine = calls.filter((call) => call.path === path && call.begun < moment)
  const syncs = mine.filter((call) => isSync(call) && call.done < moment)
  // No later sync writes what a failed one did not: the kernel marks the pages clean. It reports the failure to every descriptor that is open
  // then; a failure reported to the journal's descriptor only has lost nothing.
  const isSynced = (write: Call): boolean =>
    syncs
      .filter(({ isRefused, isBeside }) => !(isRefused && isBeside))
      .find((sync) => (sync.isRefused ? sync.done > write.begun : sync.begun > write.done))?.isRefused === false
  const bytes = resized(before, Math.max(before.length, ...mine.map(({ data, offset }) => offset + data.length)))
  let length = before.length
  for (const call of mine) {
    const { name, data, offset } = call
    if (isSync(call)) continue
    const isSure = isSynced(call)
    const survives = (): boolean => isSure || random(1000) < part * 1000
    if (name !== 'pwrite64') {
      if (!survives()) continue
      length = name === 'unlink' ? 0 : offset
      bytes.fill(0, length)
    }
    for (let from = 0; from < data.length; from += sector) {
      if (!survives()) continue
      const piece = data.subarray(from, from + sector)
      piece.copy(bytes, offset + from)
      length = Math.max(length, offset + from + piece.length)
    }
  }
  return bytes.subarray(0, length)
}

function resized(bytes: Buffer, size: number): Buffer {
  const result = Buffer.alloc(size)
  bytes.copy(result)
  return result
}

/** Integers below the given one; the same for the same seed. */
function randomOf(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
