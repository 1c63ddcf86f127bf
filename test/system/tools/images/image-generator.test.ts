import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { request } from 'undici'
import { paintPng } from '../../../../src/demo-upstream/png.ts'
import type { Script } from '../../../support/upstream/script.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../src/system/clock.ts'

const minute = 60_000
const day = 86_400_000

/** A clock that a test moves. */
function createManualClock() {
  let ahead = 0
  return { clock: createClock({ now: () => Date.now() + ahead }), advance: (ms: number) => void (ahead += ms) }
}

async function startImageGateway(t: Test, overrides: Overrides = {}) {
  const { clock, advance } = createManualClock()
  const gateway = await startGateway(t, overrides, { clock })
  return { gateway, clock, advance, ...(await gateway.createMember()) }
}

interface Completion {
  readonly model: string
  readonly choices: readonly { readonly message: { readonly content: string } }[]
  readonly usage: { readonly total_tokens: number }
}

async function generateImage(gateway: TestGateway, token: string, prompt: string, body: object = {}): Promise<Completion> {
  const response = await gateway.chat(token, { model: 'svc-img', messages: [{ role: 'user', content: prompt }], ...body })
  t.equal(response.status, 200)
  return (await response.json()) as Completion
}

function findLinks(content: string): string[] {
  return [...content.matchAll(/!\[(?:\\.|[^\]\\])*\]\(([^)]+)\)/g)].map((match) => match[1]!)
}

function listFiles(dataDir: string): string[] {
  return readdirSync(join(dataDir, 'images'), { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name))
}

/** Scripts the upstream's message. */
function scriptMessage(message: object, more: object = {}): Script {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }]
  return { body: { id: 'c', object: 'chat.completion', created: 1, model: 'x', choices, ...more } }
}

const png = paintPng('a test')
const dataUrl = `data:image/png;base64,${png.toString('base64')}`

t.test('a chat returns the image as a Markdown link that loads without headers', async (t) => {
  const { gateway, token, id } = await startImageGateway(t)
  const { choices, model } = await generateImage(gateway, token, 'A lighthouse [at] night\nin a storm')
  t.equal(model, 'svc-img')
  const { content } = choices[0]!.message
  t.notMatch(content, /data:/)
  t.match(content, String.raw`![A lighthouse \[at\] night in a storm](`)
  const [link] = findLinks(content)
  t.ok(link!.startsWith(`${gateway.url}/v1/images/`))

  const image = await fetch(link!)
  t.equal(image.status, 200)
  t.equal(image.headers.get('content-type'), 'image/png')
  t.equal(image.headers.get('x-content-type-options'), 'nosniff')
  t.equal(image.headers.get('content-security-policy'), "default-src 'none'; sandbox")
  t.equal(image.headers.get('cross-origin-resource-policy'), 'cross-origin')
  t.equal(image.headers.get('access-control-allow-origin'), '*', 'pages may fetch the image')
  t.match(image.headers.get('cache-control'), /^private, max-age=86400/)
  t.match(image.headers.get('x-request-id'), /^mbr_/)
  const bytes = Buffer.from(await image.arrayBuffer())
  t.equal(bytes.toString('latin1', 1, 4), 'PNG')
  t.equal(image.headers.get('content-length'), String(bytes.length))

  const again = await request(link!, { headers: { 'if-none-match': image.headers.get('etag')! } })
  t.equal(again.statusCode, 304, 'a conditional request is answered with 304')
  await gateway.waitUntilSettled()
  t.ok((await gateway.listTurns(id))[0]!.credits > 0)
})

t.test('refuses a modified link and reports an expired one', async (t) => {
  const { gateway, token, advance } = await startImageGateway(t)
  const { choices } = await generateImage(gateway, token, 'A lighthouse')
  const [link] = findLinks(choices[0]!.message.content)
  const url = new URL(link!)
  const changed = (change: (copy: URL) => void): string => {
    const copy = new URL(url)
    change(copy)
    return copy.href
  }
  const exp = Number(url.searchParams.get('exp'))
  const cases: readonly [string, string][] = [
    ['another expiry', changed((copy) => copy.searchParams.set('exp', String(exp + 1)))],
    ['another signature', changed((copy) => copy.searchParams.set('sig', `${url.searchParams.get('sig')!.slice(0, -2)}AA`))],
    ['another key', changed((copy) => copy.searchParams.set('sig', `other1.${url.searchParams.get('sig')!.split('.')[1]}`))],
    ['no signature', changed((copy) => copy.searchParams.delete('sig'))],
    ['no expiry', changed((copy) => copy.searchParams.delete('exp'))],
    ['another image', changed((copy) => (copy.pathname = copy.pathname.replace(/[0-9a-f]{4}\./, '0000.')))],
    ['another ending', changed((copy) => (copy.pathname = copy.pathname.replace('.png', '.jpg')))],
    ['a path out of the folder', changed((copy) => (copy.pathname = '/v1/images/..%2F..%2Fgateway.db'))],
  ]
  for (const [what, href] of cases) {
    const response = await fetch(href)
    t.equal(response.status, 403, what)
    t.equal(((await response.json()) as { code: string }).code, 'link_invalid', what)
  }
  advance(7 * day + minute)
  const late = await fetch(link!)
  t.equal(late.status, 410)
  t.equal(((await late.json()) as { code: string }).code, 'link_expired')
})

t.test('stores the same bytes once for all accounts', async (t) => {
  const { gateway, token } = await startImageGateway(t)
  const other = await gateway.createMember()
  const first = findLinks((await generateImage(gateway, token, 'One house')).choices[0]!.message.content)
  const second = findLinks((await generateImage(gateway, other.token, 'One house')).choices[0]!.message.content)
  t.equal(new URL(first[0]!).pathname, new URL(second[0]!).pathname)
  t.equal(listFiles(gateway.config.store.dataDir).length, 1)
  await generateImage(gateway, token, 'Another house')
  t.equal(listFiles(gateway.config.store.dataDir).length, 2)
})

t.test('streams a role, one content chunk, an end and the requested usage', async (t) => {
  const { gateway, token } = await startImageGateway(t)
  const response = await gateway.chat(token, {
    model: 'svc-img',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'A boat' }],
  })
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
  t.equal(frames.pop(), 'data: [DONE]')
  const chunks = frames.map((frame) => JSON.parse(frame.slice(6)))
  t.equal(chunks.length, 4)
  t.same(chunks[0].choices[0].delta, { role: 'assistant', content: '' })
  t.equal(findLinks(chunks[1].choices[0].delta.content).length, 1)
  t.equal(chunks[2].choices[0].finish_reason, 'stop')
  t.ok(chunks[3].usage.total_tokens > 0)
  for (const chunk of chunks) t.equal(chunk.model, 'svc-img')
})

t.test('keeps a stream alive with comments during generation', async (t) => {
  const { gateway, token } = await startImageGateway(t, { timeouts: { heartbeatAfterMs: 100, heartbeatEveryMs: 100 } })
  gateway.demo.script(() => ({ headMs: 600 }))
  const response = await gateway.chat(token, { model: 'svc-img', stream: true, messages: [{ role: 'user', content: 'A boat' }] })
  const text = await response.text()
  t.match(text, /^: keep-alive\n\n/)
  t.equal(findLinks(text.replaceAll(String.raw`\n`, '\n')).length, 1)
  t.ok(text.endsWith('data: [DONE]\n\n'))
})

t.test('an upstream with /images/generations serves the same chat', async (t) => {
  const { gateway, token, id } = await startImageGateway(t, { images: { style: 'generations' } })
  const { choices, usage } = await generateImage(gateway, token, 'A red bird', { size: '1024x1024' })
  t.equal((await fetch(findLinks(choices[0]!.message.content)[0]!)).status, 200)
  const call = gateway.demo.calls.at(-1)!
  t.equal(call.path, '/v1/images/generations')
  t.same(JSON.parse(call.rawBody!), { model: 'demo-image', prompt: 'A red bird', n: 1, size: '1024x1024' })
  t.ok(usage.total_tokens > 0)

  const withImage = [
    { type: 'text', text: 'Make it blue' },
    { type: 'image_url', image_url: { url: dataUrl } },
  ]
  const refused = await gateway.chat(token, { model: 'svc-img', messages: [{ role: 'user', content: withImage }] })
  t.equal(refused.status, 400)
  t.equal(((await refused.json()) as { code: string }).code, 'invalid_request')
  await gateway.waitUntilSettled()
  t.same(
    (await gateway.listTurns(id)).map(({ state, credits }) => [state, credits > 0]),
    [
      ['refunded', false],
      ['settled', true],
    ],
  )
})

t.test('charges the fixed price per image, whether or not the client stays', async (t) => {
  const { gateway, token, id } = await startImageGateway(t, { images: { style: 'generations' } })
  const data = [1, 2, 3].map((nth) => ({ b64_json: paintPng(`${nth}`).toString('base64') }))
  for (const usage of [undefined, { input_tokens: 0, output_tokens: 0 }]) {
    gateway.demo.script(() => ({ body: { data, usage } }))
    await generateImage(gateway, token, 'Three birds', { n: 3 })
  }
  gateway.demo.script(() => ({ body: { data }, headMs: 500 }))
  const gone = new AbortController()
  const next = gateway.demo.next()
  const body = { model: 'svc-img', n: 3 }
  const pending = gateway.chat(token, body, { signal: gone.signal }).catch(() => undefined)
  await next
  gone.abort()
  await pending
  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(id)
  t.same(
    turns.map(({ credits, code }) => [credits, code]),
    [
      [6_000, 'aborted'],
      [6_000, null],
      [6_000, null],
    ],
  )
  t.ok(turns.every(({ reserved }) => reserved >= 6_000))
})

t.test('finds images in every supported field and never passes on a data URL', async (t) => {
  const { gateway, token } = await startImageGateway(t)
  const base64 = png.toString('base64')
  const styles: readonly [string, object, string][] = [
    ['images of the message', { content: 'Here.', images: [{ type: 'image_url', image_url: { url: dataUrl } }] }, 'Here.'],
    [
      'parts of the content',
      {
        content: [
          { type: 'text', text: 'Here.' },
          { type: 'image_url', image_url: { url: dataUrl } },
        ],
      },
      'Here.',
    ],
    ['inline data', { content: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: base64 } }] }, 'Here.'],
    ['Markdown', { content: `Here.\n\n![house](${dataUrl})` }, 'Here.'],
    ['a bare data URL', { content: `Here. ${dataUrl}` }, 'Here.'],
  ]
  for (const [style, message, text] of styles) {
    gateway.demo.script(() => scriptMessage(message))
    const { content } = (await generateImage(gateway, token, 'A house')).choices[0]!.message
    t.equal(findLinks(content).length, 1, style)
    t.ok(content.startsWith(`${text}\n![`), style)
    t.notMatch(content, /data:|base64/, style)
  }
  t.equal(listFiles(gateway.config.store.dataDir).length, 1, 'all of them are one stored image')
})

t.test('parses an answer of unfinished image links in linear time', async (t) => {
  const { gateway, token } = await startImageGateway(t)
  const { eventLoopUtilization: looked } = performance
  for (const opening of ['![](', '![', '![x](a ', '![](a\n']) {
    const text = opening.repeat(6_000 / opening.length).trim()
    gateway.demo.script(() => scriptMessage({ content: text }))
    const before = looked()
    const { content } = (await generateImage(gateway, token, 'A house')).choices[0]!.message
    t.ok(looked(before).active < 1_000, `${JSON.stringify(opening)} is read at once`)
    t.equal(content, text)
  }
})

t.test('refunds an answer whose bytes are no image', async (t) => {
  const { gateway, token, id } = await startImageGateway(t, { images: { maxBytes: 2048 } })
  const inline = (bytes: Buffer | string, type = 'image/png') =>
    scriptMessage({
      content: null,
      images: [{ image_url: { url: `data:${type};base64,${Buffer.from(bytes).toString('base64')}` } }],
    })
  const cases: readonly [string, Script][] = [
    ['a drawing that can run', inline('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'image/svg+xml')],
    ['a page called an image', inline('<!doctype html><script>1</script>')],
    ['too many bytes', inline(Buffer.concat([png, Buffer.alloc(3000)]))],
    ['nothing', inline('')],
    ['silence', scriptMessage({ content: '' })],
    ['an address of this machine', scriptMessage({ content: '![x](http://127.0.0.1:9/x.png)' })],
    ['words beside an image that cannot be shown', scriptMessage({ content: 'Here. ![x](https://127.0.0.1:9/x.png)' })],
    ['broken JSON', { body: '{"choices": [' }],
  ]
  for (const [what, script] of cases) {
    gateway.demo.script(() => script)
    const response = await gateway.chat(token, { model: 'svc-img', messages: [{ role: 'user', content: 'x' }] })
    const body = (await response.json()) as { code: string; debug: { quotaRefunded: boolean } }
    t.same([response.status, body.code, body.debug.quotaRefunded], [502, 'upstream_error', true], what)
  }
  await gateway.waitUntilSettled()
  t.ok((await gateway.listTurns(id)).every(({ credits, state }) => credits === 0 && state === 'refunded'))
})

t.test('accepts text without an image: the model may ask back', async (t) => {
  const { gateway, token } = await startImageGateway(t)
  gateway.demo.script(() => scriptMessage({ content: 'Which house?' }))
  t.equal((await generateImage(gateway, token, 'It')).choices[0]!.message.content, 'Which house?')
})

t.test('charges the fixed price if the upstream reports no tokens', async (t) => {
  const { gateway, token, id } = await startImageGateway(t)
  gateway.demo.script(() => scriptMessage({ content: `![x](${dataUrl})` }))
  await generateImage(gateway, token, 'A house')
  await gateway.waitUntilSettled()
  t.equal((await gateway.listTurns(id))[0]!.credits, 2_000)
})

t.test('charges only the images that can be shown', async (t) => {
  const { gateway, token, id } = await startImageGateway(t, { images: { style: 'generations' } })
  const data = [{ b64_json: png.toString('base64') }, { b64_json: 'AAAA' }, { url: 'https://127.0.0.1:9/x.png' }]
  gateway.demo.script(() => ({ body: { data } }))
  const { choices } = await generateImage(gateway, token, 'Three birds', { n: 3 })
  t.equal(findLinks(choices[0]!.message.content).length, 1)
  await gateway.waitUntilSettled()
  t.equal((await gateway.listTurns(id))[0]!.credits, 2_000)
})

t.test('ignores a report above the possible maximum and leaves no debt', async (t) => {
  const { gateway, token, id } = await startImageGateway(t)
  const usages = [
    { prompt_tokens: 50, completion_tokens: 9_999_999 },
    { prompt_tokens: 9_999_999, completion_tokens: 1_290 },
    { prompt_tokens: 50, completion_tokens: 10_000 },
  ]
  for (const usage of usages) {
    gateway.demo.script(() => scriptMessage({ content: `![x](${dataUrl})` }, { usage }))
    await generateImage(gateway, token, 'A house')
  }
  await gateway.waitUntilSettled()
  t.match(await gateway.listTurns(id), [
    { estimated: false, outputTokens: 10_000 },
    { estimated: true, credits: 2_000 },
    { estimated: true, credits: 2_000 },
  ])
})

t.test('deletes old images with their last owner and evicts the least recently viewed', async (t) => {
  const { gateway, token, advance } = await startImageGateway(t, {
    images: { keepForDays: 10, keepBytes: 1024 * 1024, linkDays: 90 },
  })
  const { dataDir } = gateway.config.store
  const { images } = gateway.services
  const [old] = findLinks((await generateImage(gateway, token, 'Old')).choices[0]!.message.content)
  advance(11 * day)
  const [young] = findLinks((await generateImage(gateway, token, 'Young')).choices[0]!.message.content)
  await images.cleanUp()
  t.equal((await fetch(old!)).status, 404, 'the old image is deleted')
  t.equal((await fetch(young!)).status, 200, 'the new image remains')
  t.equal(listFiles(dataDir).length, 1)

  const big = Buffer.concat([png, Buffer.alloc(700_000, 1)])
  const bigger = Buffer.concat([png, Buffer.alloc(700_000, 2)])
  const owner = (await gateway.services.store.accounts.list({ limit: 1 }))[0]!.id
  const first = await images.put(big, owner)
  advance(2 * day)
  const second = await images.put(bigger, owner)
  await images.cleanUp()
  t.equal(await images.open(first!.hash), null, 'over the limit, the least recently viewed image is evicted')
  const kept = await images.open(second!.hash)
  t.ok(kept)
  kept?.stream.destroy()
})

t.test('a new request for an image renews its lifetime', async (t) => {
  const { gateway, token, advance } = await startImageGateway(t, { images: { keepForDays: 10 } })
  await generateImage(gateway, token, 'Again')
  advance(6 * day)
  await generateImage(gateway, token, 'Again')
  advance(6 * day)
  await gateway.services.images.cleanUp()
  t.equal(listFiles(gateway.config.store.dataDir).length, 1)
  advance(6 * day)
  await gateway.services.images.cleanUp()
  t.equal(listFiles(gateway.config.store.dataDir).length, 0)
})

t.test('keeps an image until both owners have lost it', async (t) => {
  const { gateway, token, id, clock, advance } = await startImageGateway(t, { images: { keepForDays: 10 } })
  const other = await gateway.createMember()
  await generateImage(gateway, token, 'Shared')
  advance(5 * day)
  await generateImage(gateway, other.token, 'Shared')
  await gateway.services.store.accounts.erase(id, clock.now())
  await gateway.services.images.cleanUp()
  t.equal(listFiles(gateway.config.store.dataDir).length, 1)
  await gateway.services.store.accounts.erase(other.id, clock.now())
  await gateway.services.images.cleanUp()
  t.equal(listFiles(gateway.config.store.dataDir).length, 0)
})

t.test('connects to no internal address that a member or a model names', async (t) => {
  let knocks = 0
  const canary = createServer((socket) => {
    knocks++
    socket.destroy()
  })
  canary.listen(0, '127.0.0.1')
  await once(canary, 'listening')
  t.teardown(() => canary.close())
  const { port } = canary.address() as AddressInfo
  const { gateway, token } = await startImageGateway(t)
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0.0.0.0']) {
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${port}/x.png`
      const content = [
        { type: 'text', text: `Paint ${url}` },
        { type: 'image_url', image_url: { url } },
      ]
      for (const model of ['svc-2.1', 'svc-img', 'svc-2.1-search']) {
        gateway.demo.script(model === 'svc-img' ? () => scriptMessage({ content: `![x](${url})` }) : undefined)
        await (await gateway.chat(token, { model, messages: [{ role: 'user', content }] })).arrayBuffer()
      }
    }
  }
  t.equal(knocks, 0)
})
