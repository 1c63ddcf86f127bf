/** When notices are current, how often the store is read for them, what is refused, and what is recorded. */
import t from 'tap'
import { maxNoticeChars, maxOpenNotices } from '../../../../src/domain/notice.ts'
import type { Notice, NoticeContent, Notices } from '../../../../src/domain/notice.ts'
import { NoticeService } from '../../../../src/domain/services/operators/notice-service.ts'

const noon = Date.UTC(2026, 10, 29, 12)
const hourMs = 3_600_000
const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: 'planned' } as const
const content: NoticeContent = {
  kind: 'maintenance',
  text: { en: 'Down for an hour.', zh: null },
  startsAt: noon,
  endsAt: noon + hourMs,
}

function create() {
  const time = { now: noon }
  const state = { reads: 0, isBroken: false }
  const rows = new Map<string, Notice>()
  const notices: Notices = {
    async listOpen(now) {
      state.reads += 1
      if (state.isBroken) throw new Error('the database is away')
      return [...rows.values()].filter(({ endsAt }) => endsAt > now)
    },
    list: async ({ limit }) => [...rows.values()].slice(0, limit),
    find: async (id) => rows.get(id),
    async add(notice, limit) {
      if ((await notices.listOpen(notice.createdAt)).length >= limit) return false
      rows.set(notice.id, notice)
      return true
    },
    async change({ id, revision }, next, now) {
      const row = rows.get(id)
      if (row === undefined || row.revision !== revision || row.endsAt <= now) return undefined
      rows.set(id, { ...row, ...next, revision: row.revision + 1 })
      return rows.get(id)
    },
    sweep: async () => undefined,
  }
  const records: unknown[] = []
  let count = 0
  const createService = (): NoticeService =>
    new NoticeService({
      store: { notices },
      clock: { now: () => time.now },
      ids: { next: (prefix) => `${prefix}${(count += 1)}` },
      writeAudit: async (event, account, client, detail, by) =>
        void records.push({ event, account, client, detail, reason: by?.reason }),
    })
  return { time, state, records, createService, service: createService() }
}

t.test(
  'a notice is current from its beginning until its end, and all pages together read the store every few seconds',
  async (t) => {
    const { time, state, service, createService } = create()
    const elsewhere = createService()
    t.same(await elsewhere.listCurrent(), [])
    await service.add({ ...content, startsAt: noon + 10_000, endsAt: noon + 20_000 }, author)
    const isCurrent = async (at: number, of = service): Promise<boolean> => {
      time.now = noon + at
      return (await of.listCurrent()).length === 1
    }
    t.equal(await isCurrent(4_999, elsewhere), false)
    state.reads = 0
    for (let page = 0; page < 100; page += 1) await Promise.all([service.listCurrent(), service.listCurrent()])
    t.equal(state.reads, 1)
    t.equal(await isCurrent(9_999), false)
    t.equal(await isCurrent(10_000), true)
    t.equal(await isCurrent(10_000, elsewhere), true, 'another node sees it within seconds')
    t.equal(await isCurrent(19_999), true)
    t.equal(await isCurrent(20_000), false, 'its end needs no read')
    time.now = noon - hourMs
    state.reads = 0
    await service.listCurrent()
    t.equal(state.reads, 1, 'a clock that was set back makes no copy last longer')
  },
)

t.test('while the store cannot be read, the notices read last are shown', async (t) => {
  const { time, state, service } = create()
  await service.add(content, author)
  await service.listCurrent()
  state.isBroken = true
  time.now += 60_000
  t.equal((await service.listCurrent()).length, 1)
  t.same(await create().createService().listCurrent(), [])
})

t.test('a change of this thread is seen at once, also by a read that began before it', async (t) => {
  const { service } = create()
  const reading = service.listCurrent()
  await service.add(content, author)
  await reading
  t.equal((await service.listCurrent()).length, 1)
})

t.test('what cannot be shown well is refused', async (t) => {
  const { service, records } = create()
  const cases: readonly (readonly [Partial<NoticeContent>, string])[] = [
    [{ text: { en: null, zh: null } }, 'no_text'],
    [{ text: { en: ' ', zh: null } }, 'bad_text'],
    [{ text: { en: 'two\nlines', zh: null } }, 'bad_text'],
    [{ text: { en: 'right \u202e to left', zh: null } }, 'bad_text'],
    [{ text: { en: null, zh: 'x'.repeat(maxNoticeChars + 1) } }, 'bad_text'],
    [{ endsAt: noon }, 'ends_before'],
    [{ startsAt: noon - 2 * hourMs, endsAt: noon - hourMs }, 'past_end'],
    [{ endsAt: noon + 400 * 24 * hourMs }, 'too_long'],
    [{ startsAt: noon + 400 * 24 * hourMs, endsAt: noon + 401 * 24 * hourMs }, 'too_long'],
  ]
  for (const [change, why] of cases) t.match(await service.add({ ...content, ...change }, author), { kind: 'refused', why }, why)
  t.same(records, [])
  for (let count = 0; count < maxOpenNotices; count += 1) t.match(await service.add(content, author), { kind: 'written' })
  t.match(await service.add(content, author), { kind: 'refused', why: 'too_many' })
})

t.test('of two changes of what both operators read, the second is refused, and an end holds', async (t) => {
  const { service, records } = create()
  const added = await service.add(content, author)
  if (added.kind !== 'written') throw new Error('it was refused')
  const { notice } = added
  t.match(await service.change(notice, { endsAt: noon + 2 * hourMs }, author), { kind: 'written' })
  const text = { en: 'Down for two hours.', zh: null }
  t.match(await service.change(notice, { text }, author), { kind: 'refused', why: 'changed' })
  t.match(await service.find(notice.id), { revision: 2, endsAt: noon + 2 * hourMs, text: content.text })
  t.match(await service.end(notice, author), { revision: 3, endsAt: noon })
  t.match(records.at(-1), { event: 'notice_ended', detail: { before_until: '2026-11-29T14:00:00.000Z' } })
  t.equal(records.length, 3)
})

t.test('a record has what was before and after; what changes nothing leaves none', async (t) => {
  const { time, service, records } = create()
  const added = await service.add(content, author)
  if (added.kind !== 'written') throw new Error('it was refused')
  const { notice } = added
  await service.change(notice, content, author)
  const changed = await service.change(notice, { endsAt: noon + 2 * hourMs }, author)
  t.match(changed, { kind: 'written', notice: { revision: 2, endsAt: noon + 2 * hourMs, text: content.text } })
  time.now += 1_000
  const ended = await service.end(changed.kind === 'written' ? changed.notice : notice, author)
  t.equal(ended.endsAt, time.now)
  t.same(await service.listCurrent(), [])
  await service.end(ended, author)
  t.match(await service.change(ended, { endsAt: noon + hourMs }, author), { kind: 'refused', why: 'over' })
  t.match(records, [
    { event: 'notice_added', account: null, reason: 'planned', detail: { notice: notice.id, en: 'Down for an hour.', zh: null } },
    { event: 'notice_changed', detail: { before_until: '2026-11-29T13:00:00.000Z', until: '2026-11-29T14:00:00.000Z' } },
    { event: 'notice_ended', detail: { until: '2026-11-29T12:00:01.000Z' } },
  ])
  t.equal(records.length, 3)
})

t.test('a notice that is ended before it begins is never shown', async (t) => {
  const { time, service } = create()
  const added = await service.add({ ...content, startsAt: noon + hourMs, endsAt: noon + 2 * hourMs }, author)
  if (added.kind === 'written') await service.end(added.notice, author)
  for (let at = noon; at < noon + 3 * hourMs; at += hourMs / 2) {
    time.now = at
    t.same(await service.listCurrent(), [])
  }
})
