/** `examples/plugin`, started as its documentation says; `docs/plugins.md` shows the same files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'

const folder = join(checkoutRoot, 'examples/plugin')

t.test('the documentation shows the files of the example', async (t) => {
  const shown = [...readFileSync(join(checkoutRoot, 'docs/plugins.md'), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(
    ([, code]) => code,
  )
  t.same(
    shown,
    ['banned-words.ts', 'school.config.ts'].map((file) => readFileSync(join(folder, file), 'utf8')),
  )
})

t.test('the plugin refuses a banned word before anything is charged, and marks other answers', async (t) => {
  const server = await startServerProcess(t, { GATEWAY_CONFIG: join(folder, 'school.config.ts'), DATA_DIR: t.testdir() })
  t.not(server.url, '', server.log())
  const key = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
  const chat = (content: string) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content }] }),
    })
  const good = await chat('Hello')
  t.equal(good.status, 200)
  t.equal(good.headers.get('x-words-checked'), '1')
  await good.arrayBuffer()
  const refused = await chat('Where is the Unobtainium?')
  t.equal(refused.status, 400)
  t.match(await refused.json(), { code: 'content_filter', error: { param: 'messages' } })
})
