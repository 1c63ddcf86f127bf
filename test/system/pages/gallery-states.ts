/** Every page in every state that `gallery.ts` takes pictures of: empty, full, warning, error, loading. Selectors fit both languages. */
import type { Page } from 'playwright-core'
import { OAuthTestClient } from '../../support/gateway/oauth-client.ts'
import { converse } from '../../support/website/month-of-use.ts'
import type { StartedDevice, UsedGateway } from '../../support/website/month-of-use.ts'

export interface GalleryState {
  /** A page and its state: `account-warning`. */
  readonly name: string
  readonly path: string
  /** `regular` has used the service for a month, `new` never, and `spent` has used up the Premium models of the day. */
  readonly member?: 'regular' | 'new' | 'spent'
  /** Before the page is opened: answers of the API that bring the state about. */
  readonly prepare?: (page: Page) => Promise<unknown>
  /** On the open page. */
  readonly act?: (page: Page, used: UsedGateway) => Promise<unknown>
  /** A page that is to be seen while it loads. */
  readonly isLoading?: boolean
}

const ask = (text: string) => async (page: Page) => {
  await page.locator('#message').fill(text)
  await page.keyboard.press('Enter')
}

/** One for all looks, because an address may start only a few. */
let device: Promise<StartedDevice> | undefined
let client: Promise<OAuthTestClient> | undefined

async function registerClient(gateway: UsedGateway['gateway']): Promise<OAuthTestClient> {
  const program = new OAuthTestClient(gateway)
  await program.register({ client_name: 'Notebook' })
  return program
}

export const galleryStates: readonly GalleryState[] = [
  { name: 'home', path: '/' },
  { name: 'home-signed-in', path: '/', member: 'regular' },
  { name: 'plans', path: '/plans' },
  { name: 'plans-signed-in', path: '/plans', member: 'regular' },
  { name: 'docs', path: '/docs' },
  { name: 'docs-models', path: '/docs/models' },
  { name: 'docs-limits', path: '/docs/limits' },
  { name: 'docs-errors', path: '/docs/errors' },
  { name: 'docs-tools', path: '/docs/tools' },
  { name: 'docs-codex', path: '/docs/tools/codex' },
  { name: 'docs-search', path: '/docs/search?q=key' },
  { name: 'docs-search-empty', path: '/docs/search?q=zebra' },
  { name: 'not-found', path: '/no-such-page' },
  {
    name: 'method-not-allowed',
    path: '/docs?refused',
    prepare: (page) => page.route('**/docs?refused', (route) => route.continue({ method: 'DELETE' })),
  },
  { name: 'sign-in', path: '/sign-in' },
  {
    name: 'sign-in-error',
    path: '/sign-in',
    act: async (page) => {
      await page.locator('#code-email').fill('mei@')
      await page.keyboard.press('Enter')
      await page.locator('.field-error').first().waitFor()
    },
  },
  {
    name: 'sign-in-code',
    path: '/sign-in',
    act: async (page) => {
      await page.locator('#code-email').fill(`code-${Date.now()}@example.com`)
      await page.keyboard.press('Enter')
      await page.locator('input.code').waitFor()
    },
  },
  { name: 'sign-in-password', path: '/sign-in?way=password' },
  { name: 'sign-in-invited', path: '/sign-in?invite=ABC' },
  {
    name: 'sign-in-link-dead',
    path: `/sign-in/link#${'a'.repeat(43)}`,
    act: (page) => page.locator('.field-error').first().waitFor(),
  },
  { name: 'account', path: '/account', member: 'regular' },
  { name: 'account-empty', path: '/account', member: 'new' },
  { name: 'account-used-up', path: '/account', member: 'spent' },
  { name: 'boosts', path: '/account/boosts', member: 'regular' },
  { name: 'boosts-empty', path: '/account/boosts', member: 'new' },
  { name: 'keys', path: '/keys', member: 'regular' },
  { name: 'keys-empty', path: '/keys', member: 'new' },
  {
    name: 'keys-created',
    path: '/keys',
    member: 'regular',
    act: async (page) => {
      await page.locator('#create-name').fill('laptop')
      await page.keyboard.press('Enter')
      await page.locator('.created code').first().waitFor()
      await page.getByText('Claude Code', { exact: true }).click()
    },
  },
  {
    name: 'keys-revoke',
    path: '/keys',
    member: 'regular',
    act: async (page) => {
      await page.locator('.key-row .danger-quiet').first().click()
      await page.locator('dialog[open]').waitFor()
    },
  },
  { name: 'sessions', path: '/sessions', member: 'regular' },
  { name: 'security', path: '/account/security', member: 'regular' },
  { name: 'profile', path: '/account/profile', member: 'regular' },
  { name: 'device', path: '/device', member: 'regular' },
  {
    name: 'device-question',
    path: '/device',
    member: 'regular',
    act: async (page, { startDevice }) => {
      device ??= startDevice()
      await page.goto((await device).verification_uri_complete)
      await page.locator('.user-code').waitFor()
    },
  },
  {
    name: 'device-error',
    path: '/device?user_code=ZZZZ-ZZZZ',
    member: 'regular',
    act: (page) => page.locator('.device .notice').waitFor(),
  },
  {
    name: 'consent',
    path: '/account/profile',
    member: 'regular',
    act: async (page, { gateway }) => {
      client ??= registerClient(gateway)
      await page.goto((await client).authorizePath())
      await page.locator('.verdict').waitFor()
    },
  },
  { name: 'chat-empty', path: '/chat', member: 'regular' },
  {
    name: 'chat',
    path: '/chat',
    member: 'regular',
    // Of the pool that has room: all looks are one member's.
    act: (page) => converse(page, { model: 'auto', text: 'How do plans and quota work here?' }),
  },
  {
    name: 'chat-picker',
    path: '/chat',
    member: 'regular',
    act: (page) => page.locator('[data-picker] summary').click(),
  },
  {
    name: 'chat-streaming',
    path: '/chat',
    member: 'regular',
    act: async (page) => {
      await ask(`demo:${JSON.stringify({ text: 'A tide is the rise and fall of the sea. '.repeat(80), betweenMs: 40 })}`)(page)
      await page.locator('.theirs', { hasText: 'sea. A tide' }).waitFor()
    },
  },
  {
    name: 'chat-used-up',
    path: '/chat',
    member: 'spent',
    act: async (page) => {
      await page.locator('[data-picker] summary').click()
      await page.locator('[data-picker] input[value="svc-2.1"]').check()
      await ask('Compare two ways to store sessions.')(page)
      await page.locator('.theirs .notice').waitFor()
    },
  },
  {
    name: 'chat-error',
    path: '/chat',
    member: 'regular',
    act: async (page) => {
      await ask('demo:{"status":500}')(page)
      await page.locator('.theirs .notice').waitFor()
    },
  },
]
