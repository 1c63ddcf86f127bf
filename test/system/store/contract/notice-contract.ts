/** Notices, as every store keeps them. */
import type { Test } from 'tap'
import type { Notice } from '../../../../src/domain/notice.ts'
import type { Store } from '../../../../src/domain/store.ts'

const noon = Date.UTC(2026, 10, 29, 12)

const create = (count: number, part: Partial<Notice> = {}): Notice => ({
  id: `ntc_${count}`,
  kind: 'disturbance',
  text: { en: `Text “${count}”`, zh: '较慢' },
  startsAt: noon + count,
  endsAt: noon + 1_000,
  revision: 1,
  createdAt: noon,
  ...part,
})

export function testNotices(t: Test, openEmpty: (t: Test) => Promise<Store>): void {
  t.test('notices: kept, listed, changed while they are not over, and bounded in number', async (t) => {
    const { notices } = await openEmpty(t)
    const first = create(2)
    t.equal(await notices.add(first, 2), true)
    t.equal(await notices.add(create(1, { text: { en: null, zh: '维护' } }), 2), true)
    t.equal(await notices.add(create(3), 2), false)
    t.same(await notices.find('ntc_2'), first)
    t.equal(await notices.find('ntc_3'), undefined)
    const listIds = async (list: Promise<readonly Notice[]>): Promise<readonly string[]> => (await list).map(({ id }) => id)
    t.same(await listIds(notices.listOpen(noon + 999)), ['ntc_1', 'ntc_2'])
    t.same(await listIds(notices.listOpen(noon + 1_000)), [])
    t.same(await listIds(notices.list({ limit: 9 })), ['ntc_2', 'ntc_1'])
    t.same(await listIds(notices.list({ limit: 9, before: 'ntc_2' })), ['ntc_1'])
    const { kind, text, startsAt } = first
    t.equal(await notices.change({ id: 'ntc_2', revision: 2 }, { kind, text, startsAt, endsAt: noon + 9 }, noon + 5), undefined)
    t.same(await notices.change({ id: 'ntc_2', revision: 1 }, { kind, text, startsAt, endsAt: noon + 10 }, noon + 5), {
      ...first,
      endsAt: noon + 10,
      revision: 2,
    })
    t.equal(await notices.change({ id: 'ntc_2', revision: 2 }, { kind, text, startsAt, endsAt: noon + 99 }, noon + 10), undefined)
    t.equal(await notices.add(create(4, { createdAt: noon + 10 }), 2), true, 'those that are over are not counted')
    await notices.sweep(noon + 11)
    t.same(await listIds(notices.list({ limit: 9 })), ['ntc_4', 'ntc_1'])
  })
}
