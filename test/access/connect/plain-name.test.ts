import t from 'tap'
import { plainName } from '../../../src/access/connect/plain-name.ts'

t.test('a program is shown by a name that is what it looks like', async (t) => {
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
    t.equal(plainName(name), shown, JSON.stringify(name).slice(0, 40))
})
