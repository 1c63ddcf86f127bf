/** When the server writes a backup, and what it reports. */
import t from 'tap'
import { formatDigest, getDigestName } from '../../../src/backup/stored-backups.ts'
import type { WriteBackupOptions, WrittenBackup } from '../../../src/backup/write-backup.ts'
import { BackupJob } from '../../../src/server/backup-job.ts'
import { OperatorError } from '../../../src/system/operator-error.ts'

const hourMs = 3_600_000
const minuteMs = 60_000
const settings = {
  every: 6 * hourMs,
  keep: { days: 7, weeks: 4, months: 6 },
  to: '/backups',
  passphraseFile: null,
}

function createJob() {
  const clock = { at: Date.parse('2026-11-28T00:00:00Z'), now: () => clock.at, monotonicMs: () => clock.at }
  const state = {
    stored: [] as { name: string; bytes: number }[],
    written: [] as string[],
    failures: 0,
    reported: [] as { ageMs: number; bytes: number | null }[],
    errors: [] as string[],
    fault: null as Error | null,
  }
  const addStored = (at: number, bytes: number): string => {
    const name = `svc-gateway-${new Date(at).toISOString().replaceAll(/[:.]/g, '-')}.tar`
    state.stored.push({ name, bytes }, { name: getDigestName(name), bytes: formatDigest(name, 'a'.repeat(64)).length })
    return name
  }
  const job = new BackupJob({
    settings,
    dataDir: '/data',
    services: {
      clock,
      log: {
        info() {},
        warn() {},
        error: (_: unknown, message: string) => void state.errors.push(message),
      },
      telemetry: {
        recordBackup: (backup: { ageMs: number; bytes: number | null }) => void state.reported.push(backup),
        recordBackupFailure: () => void state.failures++,
      },
    } as unknown as ConstructorParameters<typeof BackupJob>[0]['services'],
    storage: { location: '/backups', list: async () => state.stored },
    write: async ({ at }: WriteBackupOptions): Promise<WrittenBackup> => {
      if (state.fault !== null) throw state.fault
      const name = addStored(at, 1000)
      state.written.push(new Date(at).toISOString().slice(11, 16))
      return { name, at, bytes: 1000, location: '/backups', images: 0, isEncrypted: false, deleted: [], thinningFailure: null }
    },
  })
  const runFor = async (ms: number): Promise<void> => {
    for (const end = clock.at + ms; clock.at < end; clock.at += minuteMs) await job.run()
  }
  return { state, clock, job, runFor, addStored }
}

t.test('a backup is written at the start and then at the interval', async (t) => {
  const { state, runFor } = createJob()
  await runFor(13 * hourMs)
  t.same(state.written, ['00:00', '06:00', '12:00'])
  t.match(state.reported.at(-1), { ageMs: 59 * minuteMs, bytes: 1000 })
  t.equal(state.failures, 0)
})

t.test('a restart, and a backup that an operator wrote, delay the next one', async (t) => {
  const { state, clock, runFor, addStored } = createJob()
  addStored(clock.at - 2 * hourMs, 500)
  await runFor(2 * hourMs)
  t.same(state.written, [])
  t.match(state.reported[0], { ageMs: 2 * hourMs, bytes: 500 })
  addStored(clock.at, 700)
  await runFor(7 * hourMs)
  t.same(state.written, ['08:00'])
})

t.test('a failed backup is named in the log, counted, and repeated after a quarter of an hour', async (t) => {
  const { state, clock, job, runFor } = createJob()
  const startedAt = clock.at
  t.equal(job.lastFailure, null)
  state.fault = new OperatorError('No backup was written: the bucket is full (QuotaExceeded).')
  await runFor(hourMs)
  t.equal(state.failures, 4)
  t.match(state.errors, Array<RegExp>(4).fill(/^a backup failed and will be repeated: .*the bucket is full/))
  t.match(state.reported.at(-1), { ageMs: 59 * minuteMs, bytes: null }, 'without a backup the age counts from the start')
  t.same(job.lastFailure, {
    at: startedAt + 45 * minuteMs,
    reason: 'No backup was written: the bucket is full (QuotaExceeded).',
  })
  state.fault = null
  await runFor(hourMs)
  t.same(state.written, ['01:00'])
  t.equal(job.lastFailure, null)
})
