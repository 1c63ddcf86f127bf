import t from 'tap'
import { toDisplayName } from '../../../src/access/oauth/display-name.ts'

t.test("shows a client's name without misleading characters", async (t) => {
  for (const [name, shown] of [
    ['Claude Code (svc)', 'Claude Code (svc)'],
    ['编辑器', '编辑器'],
    ['<b>Approve</b>', '<b>Approve</b>'],
    ['a\u202egnp.exe', 'a gnp.exe'],
    ['Cur\u200bsor\u{e0041}\nby us', 'Cur sor by us'],
    ['x'.repeat(500), 'x'.repeat(80)],
    ['\u200b \u3164', null],
    [7, null],
  ] as const)
    t.equal(toDisplayName(name), shown, JSON.stringify(name).slice(0, 40))
})
