/** The doctor names targets that report more than any hold covered. */
import t from 'tap'
import { checkPromptReports } from '../../../../../src/operator/commands/doctor/check-prompt-reports.ts'

const turn = (target: string | null, inputTokens: number, reported: number | null = null) => ({
  target,
  inputTokens,
  disputed: reported === null ? null : { input: reported, output: 2 },
})

t.test('names each target with its largest report', async (t) => {
  const turns = [
    turn('main/big', 4_985, 25_514),
    turn('main/big', 200),
    turn('main/big', 300, 900),
    turn('other/up', 100, 5_000),
    turn('quiet/up', 100),
  ]
  const [big, other, ...rest] = checkPromptReports(turns)
  t.match(big, {
    what: 'usage reports',
    ok: true,
    detail: /^main\/big .* 2 of its last 3 turns, at most 25514 tokens where 4985 /,
  })
  t.match(other, { detail: /^other\/up .* 1 of its last 1 turn, at most 5000 tokens where 100 / })
  t.same(rest, [])
})

t.test('reports nothing where a report was too low, about the output, or without a target', async (t) => {
  t.same(checkPromptReports([]), [])
  t.same(checkPromptReports([turn('main/up', 100, 1), turn('main/up', 100, 100), turn(null, 100, 5_000)]), [])
})
