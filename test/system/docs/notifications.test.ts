/** What `docs/notifications.md` lets operators copy works: receivers, and the verification of a message in Node and Python. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import shipped from '../../../gateway.config.ts'
import { checkConfig } from '../../../src/config/config.ts'
import { incidentKinds, memberEventKinds } from '../../../src/domain/notification.ts'
import { signWebhook } from '../../../src/notifications/receivers/sign-webhook.ts'
import { requireProgram } from '../../support/require-program.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/notifications.md'), 'utf8')
const listBlocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code)
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

/** Evaluates the inside of an object literal; each variable has a value of its kind. */
function evaluate(code: string): object {
  const env = {
    secret: (name: string) =>
      name.endsWith('URL') ? 'https://chat.example.com/key' : name === 'CRM_WEBHOOK_SECRET' ? secret : '123:abc',
  }
  // oxlint-disable-next-line no-implied-eval -- the code is of our own document
  return new Function('env', `return { ${code} }`)(env) as object
}

t.test('each receiver of the page passes the check', async (t) => {
  const [whole = '', ...parts] = listBlocks('ts')
  t.match(whole, "people: { operator: { kind: 'mail'")
  t.equal(parts.length, 3)
  for (const part of parts) {
    const value = evaluate(part)
    const notifications = 'operator' in value ? { people: value } : value
    const config = checkConfig({ ...shipped, listen: { host: '127.0.0.1', port: 8787 }, notifications })
    const { people, webhooks } = config.notifications
    t.ok(Object.keys(people).length + Object.keys(webhooks).length > 0)
  }
})

t.test('the tables have every incident and every event', async (t) => {
  for (const kind of [...incidentKinds, ...memberEventKinds]) t.match(page, new RegExp(`^\\| \`${kind}\` \\|`, 'm'))
})

const body = '{"type":"account.created","data":{"plan":"free €"}}'
const headers = signWebhook({ id: 'msg_1', at: Date.now(), body }, [secret])

t.test('the check in Node is the one of the official library', async (t) => {
  const [code = ''] = listBlocks('js')
  t.match(code, 'webhook.verify(body, request.headers)')
  t.match(new Webhook(secret).verify(body, headers), { type: 'account.created' })
})

t.test('the check in Python accepts a genuine message alone', async (t) => {
  if (requireProgram(t, 'python3') === undefined) return
  const [code = ''] = listBlocks('python')
  const check = (changed: Partial<typeof headers>, text = body) =>
    spawnSync(
      'python3',
      [
        '-c',
        `${code}\nimport json, sys\ngiven = json.load(sys.stdin)\nverify(given["secret"], given["headers"], given["body"].encode())`,
      ],
      {
        input: JSON.stringify({ secret, headers: { ...headers, ...changed }, body: text }),
        encoding: 'utf8',
      },
    )
  t.equal(check({}).status, 0, check({}).stderr)
  t.match(check({}, `${body} `).stderr, /the signature is wrong/)
  t.match(check({ 'webhook-id': 'msg_2' }).stderr, /the signature is wrong/)
  t.match(check({ 'webhook-timestamp': '1' }).stderr, /the message is old/)
  t.equal(check({ 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }).status, 0, 'one of several signatures')
})
