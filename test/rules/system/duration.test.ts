import t from 'tap'
import { formatDuration } from '../../../src/system/duration.ts'

t.test('formats a duration in its largest unit of which there are at least two', async (t) => {
  const cases = [
    [2_000, '2.0 s'],
    [119_900, '119.9 s'],
    [3_700_000, '62 minutes'],
    [47 * 3_600_000, '47 hours'],
    [40 * 86_400_000, '40 days'],
  ] as const
  for (const [ms, text] of cases) t.equal(formatDuration(ms), text)
})
