/** The audit log's bounds: strangers cannot use up the records of others. */
import t from 'tap'
import { createAuditWriter } from '../../../../src/domain/identity/audit.ts'
import type { AuditRecord } from '../../../../src/domain/identity/audit.ts'
import { AttemptLimits, mergeAttemptLimits } from '../../../../src/domain/identity/limits/attempt-limits.ts'

const hourMs = 3_600_000

function openAudit() {
  const records: AuditRecord[] = []
  const attempts = new Map<string, number[]>()
  const clock = { at: 0, now: () => clock.at }
  let consumed = 0
  const limits = new AttemptLimits(
    {
      consume: async (subject, { times, withinMs }, now) => {
        consumed++
        const recent = (attempts.get(subject) ?? []).filter((at) => at > now - withinMs)
        if (recent.length >= times) return (recent[0] ?? now) + withinMs
        attempts.set(subject, [...recent, now])
        return null
      },
      findFreeAt: async () => null,
      restore: async () => undefined,
      sweep: async () => undefined,
    },
    mergeAttemptLimits({}),
  )
  const write = createAuditWriter({
    store: { audit: { record: async (record) => void records.push(record) } },
    attemptLimits: limits,
    clock,
    ids: { next: (prefix) => `${prefix}${records.length}` },
  })
  const fail = async (account: string | null, network: string): Promise<number> => {
    const before = consumed
    await write('sign_in_failed', account, { ip: network, network, requestId: 'mbr_1' }, { method: 'link' })
    return consumed - before
  }
  return { records, clock, fail, write }
}

t.test('made-up links hide no failed sign-in of an account', async (t) => {
  const { records, fail } = openAudit()
  for (let i = 0; i < 610; i++) await fail(null, `192.0.2.${i % 3}`)
  t.equal(records.length, 3 * 60, 'each network has a bound of its own')
  for (let i = 0; i < 5; i++) await fail('acc_ada', '192.0.2.1')
  await fail('acc_ada', '198.51.100.7')
  t.equal(records.filter(({ account }) => account === 'acc_ada').length, 6)
  await fail(null, '203.0.113.9')
  t.equal(records.at(-1)?.address, '203.0.113.x', 'nor one of another network')
})

t.test('many networks together are bounded, and an account is bounded by itself', async (t) => {
  const { records, clock, fail } = openAudit()
  for (let i = 0; i < 4_000; i++) await fail(null, `10.0.${i % 100}.1`)
  t.equal(records.length, 600)
  for (let i = 0; i < 100; i++) await fail('acc_ada', `10.1.${i}.1`)
  t.equal(records.length, 660)
  await fail('acc_ben', '10.1.1.1')
  t.equal(records.length, 661)
  clock.at += hourMs
  await fail(null, '10.0.1.1')
  t.equal(records.length, 662, 'an hour later there is room again')
})

t.test('a failure takes the same steps whether the account exists or not', async (t) => {
  const { fail } = openAudit()
  t.equal(await fail('acc_ada', '192.0.2.1'), await fail(null, '192.0.2.1'))
})

t.test('events of an account push out none that tells who got into the console', async (t) => {
  const { records, write } = openAudit()
  const client = { ip: '192.0.2.1', network: '192.0.2.1', requestId: 'mbr_1' }
  for (let i = 0; i < 400; i++) await write('key_made', 'acc_ann', client, null)
  t.equal(records.length, 300)
  for (const event of ['second_factor_failed', 'recovery_code_used', 'passkey_added', 'console_opened'] as const)
    await write(event, 'acc_ann', client, null)
  t.equal(records.length, 304)
})
