import t from 'tap'
import { formatPercent } from '../../../src/pages/format.ts'

t.test('a share that is neither nothing nor everything is shown as neither', async (t) => {
  for (const [share, text] of [
    [0, '0%'],
    [19 / 20_000, '<1%'],
    [0.0099, '<1%'],
    [0.01, '1%'],
    [0.844, '84%'],
    [19_981 / 20_000, '99%'],
    [1, '100%'],
    [1.04, '104%'],
  ] as const)
    for (const language of ['en', 'zh'] as const) t.equal(formatPercent(share, language), text, String(share))
})
