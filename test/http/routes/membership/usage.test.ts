import t from 'tap'
import { Browser } from '../../../support/browser.ts'
import { startGateway } from '../../../support/gateway.ts'

const dayMs = 86_400_000

t.test('the last active day is told until the next turn and after it', async (t) => {
  let now = Date.UTC(2026, 4, 13, 12)
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const browser = new Browser(gateway)
  await browser.signIn('member@example.com')
  const turn = async (): Promise<void> => {
    const { token } = (await browser.post('auth/api-keys', { name: 'laptop' })).body
    await (await gateway.chat(token)).text()
    await gateway.settled()
  }
  /** The days that something was used on, oldest first. */
  const used = async (): Promise<string[]> => {
    const { days } = (await browser.get('usage')).body
    return days.filter(({ premium }: { premium: number }) => premium > 0).map(({ day }: { day: string }) => day)
  }
  await turn()
  t.same(await used(), ['2026-05-13'])
  now += dayMs
  t.same(await used(), ['2026-05-13'], 'the day after, before any turn')
  now += dayMs
  await turn()
  t.same(await used(), ['2026-05-13', '2026-05-15'])
})
