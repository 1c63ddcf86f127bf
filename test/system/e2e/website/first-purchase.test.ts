/** From a start with `PAYMENTS=demo` to a first paid plan and a first redeemed code, by the steps of docs/selling.md. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { waitForEmailCode } from '../../../support/gateway/website-client.ts'
import { checkoutRoot, startServerProcess } from '../../../support/processes/server-process.ts'
import { openBrowserSession, openChromium } from '../../../support/website/chromium.ts'

const execute = promisify(execFile)

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('a newcomer pays for a plan and redeems a code, with and without scripts', async (t) => {
    const dataDir = createTemporaryFolder(t)
    const startedAt = performance.now()
    const lap = (step: string): void => t.comment(`${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${step}`)
    const server = await startServerProcess(t, { PAYMENTS: 'demo', DATA_DIR: dataDir })
    lap('the server listens')
    for (const javaScriptEnabled of [true, false]) {
      const email = `newcomer-${javaScriptEnabled}@example.com`
      const { page, context } = await openBrowserSession(browser, server.url, { javaScriptEnabled })
      await signIn(page, { dataDir, email, hasScripts: javaScriptEnabled })
      lap('signed in')
      await page.goto('/plans')
      await page.getByRole('link', { name: 'Buy Pro' }).click()
      await page.getByRole('button', { name: 'Pay $9.00' }).click()
      await page.waitForURL('**/payments/demo/**')
      await page.getByRole('button', { name: 'Pay', exact: true }).click()
      await page.getByText('Paid and delivered').waitFor()
      lap('paid and delivered')
      await page.goto('/account')
      t.equal(await page.locator('[data-plan]').innerText(), 'Pro')

      const [code] =
        (await runOperator(dataDir, ['code', 'create', '--plan', 'max', '--for', '30d'])).match(/(\w{5}-){3}\w{5}/) ?? []
      await page.goto('/redeem')
      await page.getByLabel('Code').fill(code ?? '')
      await page.getByRole('button', { name: 'Show what it gives' }).click()
      await page.getByRole('button', { name: 'Redeem it' }).click()
      await page.getByText('The code is redeemed').waitFor()
      lap('a code is redeemed')
      await context.close()
    }
    t.match(await runOperator(dataDir, ['order', 'list']), /-000002[^]*-000001/)
    t.match(readFileSync(join(checkoutRoot, 'docs/selling.md'), 'utf8'), /^PAYMENTS=demo npm start$/m)
  })

async function signIn(
  page: Page,
  { dataDir, email, hasScripts }: { readonly dataDir: string; readonly email: string; readonly hasScripts: boolean },
): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send me a code' }).click()
  const field = page.getByRole('textbox', { name: 'Code from the email' })
  await field.waitFor()
  await field.fill(await waitForEmailCode({ config: { store: { dataDir } } } as Parameters<typeof waitForEmailCode>[0], email))
  // Six digits submit where scripts run.
  if (!hasScripts) await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.waitForURL((url) => url.pathname !== '/sign-in')
}

async function runOperator(dataDir: string, words: readonly string[]): Promise<string> {
  const { stdout } = await execute(process.execPath, [join(checkoutRoot, 'src/operator/main.ts'), ...words], {
    env: { ...process.env, PAYMENTS: 'demo', DATA_DIR: dataDir },
  })
  return stdout
}
