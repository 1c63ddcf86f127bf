import t from 'tap'
import { toDisplayName } from '../../../../src/domain/identity/display-name.ts'

t.test("shows a client's name without misleading characters", async (t) => {
  for (const [name, shown] of [
    ['Claude Code (svc)', 'Claude Code (svc)'],
    ['编辑器', '编辑器'],
    ['<b>Approve</b>', '<b>Approve</b>'],
    ['a\u202egnp.exe', 'a gnp.exe'],
    ['Cur\u200bsor\u{e0041}\nby us', 'Cur sor by us'],
    ['x'.repeat(500), `${'x'.repeat(59)}…`],
    ['\u200b \u3164', null],
    ['e\u0301\u0302\u0303\u0304\u0305', 'é\u0302\u0303'],
    [`x${'𝕏'.repeat(59)}`, `x${'𝕏'.repeat(59)}`],
    ['Ada\u2019s MacBook\u2028This device: approved.', 'Ada’s MacBook This device: approved.'],
    [7, null],
  ] as const)
    t.equal(toDisplayName(name), shown, String(shown).slice(0, 40))
})
