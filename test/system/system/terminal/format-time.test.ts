import { spawnSync } from 'node:child_process'
import t from 'tap'
import { formatTime, formatZone } from '../../../../src/system/terminal/format-time.ts'

t.test('formats a time of this year without the year, in both languages', async (t) => {
  const at = new Date(2026, 10, 24, 7, 5).getTime()
  t.equal(formatTime(at, 'en', at), '24 Nov 07:05')
  t.equal(formatTime(new Date(at).toISOString(), 'en', at), '24 Nov 07:05')
  t.equal(formatTime(at, 'zh', at), '11月24日 07:05')
  t.equal(formatTime(at, 'en', new Date(2027, 0, 1).getTime()), '24 Nov 2026 07:05')
  t.equal(formatTime(at, 'zh', new Date(2027, 0, 1).getTime()), '2026年11月24日 07:05')
  for (const value of ['', 'tomorrow', null, undefined, Number.NaN]) t.equal(formatTime(value, 'en', 0), '')
})

t.test('names the zone of the machine', async (t) => {
  const module = new URL('../../../../src/system/terminal/format-time.ts', import.meta.url)
  const program = `import { formatZone, formatTime } from '${module.href}'; const at = Date.UTC(2026, 0, 15); console.log(formatZone(at), formatTime(at, 'en', at))`
  for (const [zone, shown] of [
    ['UTC', 'UTC 15 Jan 00:00'],
    ['Asia/Shanghai', 'UTC+8 15 Jan 08:00'],
    ['Asia/Kolkata', 'UTC+5:30 15 Jan 05:30'],
    ['America/New_York', 'UTC-5 14 Jan 19:00'],
  ] as const) {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      env: { ...process.env, TZ: zone },
    })
    t.equal(stdout.trim(), shown)
  }
  t.match(formatZone(0), /^UTC/)
})
