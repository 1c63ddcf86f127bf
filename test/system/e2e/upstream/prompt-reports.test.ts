/** What a prompt with files costs, and which of an upstream's reports are charged. The prices make a token a credit. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../../support/gateway/test-gateway.ts'
import type { Test } from 'tap'

const unlimited = { day: 1e12, week: 1e12, month: 1e12 }
const text = { type: 'text', text: 'Summarise.' }
const noise = (bytes: number) => randomBytes(bytes).toString('base64')
const pdf = (bytes: number, pages = 0) => {
  const objects = '<< /Type /Page >>\n'.repeat(pages)
  return Buffer.concat([Buffer.from(`%PDF-1.4\n${objects}`), randomBytes(bytes)]).toString('base64')
}
const user = (...parts: object[]) => ({ messages: [{ role: 'user', content: [...parts, text] }] })
const file = (data: string, type = 'application/pdf') => ({
  type: 'file',
  file: { filename: 'scan.pdf', file_data: `data:${type};base64,${data}` },
})
const picture = (url: string) => ({ type: 'image_url', image_url: { url } })
const toolResult = (part: object) => ({
  messages: [
    { role: 'user', content: 'look' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'shot', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: [part] },
  ],
})

async function start(t: Test, overrides: Overrides = {}) {
  const gateway = await startGateway(t, {
    prices: { flagship: { input: 1, cachedInput: 0.1, output: 1, discountPercent: 0 } },
    plans: { free: { rpm: 10_000, pools: { fast: unlimited, premium: unlimited } } },
    upstreams: { main: { mediaByAddress: 'any' } },
    ...overrides,
  })
  const { token } = await gateway.createMember()
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', ...body }),
    })
  const chat = async (body: object, usage: object | null, stream = true) => {
    gateway.demo.script(() => ({ tokens: 2, usage: usage ?? undefined }))
    const answer = await post('/v1/chat/completions', { stream, stream_options: { include_usage: true }, ...body })
    t.equal(answer.status, 200, await answer.clone().text())
    await answer.text()
    const [turn] = await gateway.listTurns()
    return turn
  }
  return { gateway, post, chat }
}

t.test('charges what the upstream reports for files, wherever they stand', async (t) => {
  const { chat } = await start(t)
  for (const [name, body, tokens] of [
    ['one scanned page', user(file(noise(200_000))), 1_500],
    ['five scanned pages', user(file(noise(1_000_000))), 9_000],
    ['a PDF of text', user(file(pdf(20_000, 12))), 30_000],
    ['fifteen scanned pages', user(file(pdf(3_000_000, 15))), 27_000],
    ['two files', user(file(pdf(50_000, 1)), file(pdf(90_000, 2))), 7_000],
    ['a picture in a tool’s result', toolResult(picture(`data:image/png;base64,${noise(1_000_000)}`)), 1_300],
    ['a PDF in a tool’s result', toolResult(file(noise(1_000_000))), 9_000],
    [
      'a picture as Anthropic writes it',
      toolResult({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: noise(400_000) } }),
      1_300,
    ],
    [
      'a picture in an assistant’s message',
      {
        messages: [
          { role: 'assistant', content: 'ok', images: [picture(`data:image/png;base64,${noise(400_000)}`)] },
          { role: 'user', content: 'x' },
        ],
      },
      1_300,
    ],
    ['sound', user({ type: 'input_audio', input_audio: { data: noise(500_000), format: 'mp3' } }), 1_000],
    ['a video at an address', user({ type: 'video_url', video_url: { url: 'https://media.example.com/v.mp4' } }), 16_000],
  ] as const)
    for (const stream of [true, false]) {
      const turn = await chat(body, { prompt_tokens: tokens, completion_tokens: 2 }, stream)
      t.match(turn, { inputTokens: tokens, outputTokens: 2, estimated: false, credits: tokens + 2 }, name)
    }
})

t.test('estimates files by kind where the upstream reports nothing, and when it counts tokens', async (t) => {
  const { chat, post } = await start(t)
  for (const [name, data, tokens] of [
    ['one page', noise(200_000), 1_500],
    ['five pages', noise(1_000_000), 9_000],
    ['fifteen pages', pdf(3_000_000, 15), 27_000],
  ] as const) {
    const turn = await chat(user(file(data)), null)
    t.ok(
      turn !== undefined && turn.credits !== null && turn.credits > tokens / 3 && turn.credits < tokens * 3,
      `${name}: ${turn?.credits}`,
    )
    const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }
    const counted = await post('/v1/messages/count_tokens', { messages: [{ role: 'user', content: [document] }] })
    const { input_tokens: count } = (await counted.json()) as { input_tokens: number }
    t.ok(count > tokens / 3 && count < tokens * 3, `${name}: counts ${count}`)
  }
})

t.test('serves a scanned document on the shipped plans', async (t) => {
  const gateway = await startGateway(t)
  gateway.demo.script(() => ({ tokens: 2, usage: { prompt_tokens: 27_000, completion_tokens: 2 } }))
  const { token } = await gateway.createMember()
  const answer = await gateway.chat(token, { model: 'svc-2.1', ...user(file(noise(3_000_000))) })
  t.equal(answer.status, 200, JSON.stringify(answer.body))
})

t.test('charges at most what was reserved for the prompt', async (t) => {
  const { gateway, chat } = await start(t)
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const onePixel = await chat(user(picture(`data:image/png;base64,${pixel}`)), { prompt_tokens: 90_000, completion_tokens: 2 })
  t.ok(onePixel?.credits !== undefined && Number(onePixel.credits) < 2_000, `a picture of one pixel: ${onePixel?.credits}`)
  t.match(onePixel, { disputed: { input: 90_000, output: 2 } })
  const { stdout } = await createOperatorCli(t, gateway.config.store.dataDir)('doctor')
  t.match(stdout, /usage reports .* 1 of its last 1 turn, at most 90000 tokens where/)
  const after = await chat(user(picture(`data:image/png;base64,${pixel}`)), { prompt_tokens: 90_000, completion_tokens: 2 })
  t.match(after, { inputTokens: 90_000, estimated: false }, 'the account’s next files are held at the context')
  t.match(await gateway.listTurns(), [{}, {}])

  const costly = await start(t, { products: { 'svc-2.1': { media: { maxImageTokens: 26_000 } } } })
  const dear = await costly.chat(user(picture('https://media.example.com/dog.jpg')), {
    prompt_tokens: 25_514,
    completion_tokens: 2,
  })
  t.match(dear, { inputTokens: 25_514, estimated: false }, 'as the operator has configured')
})

t.test('charges reasoning beside the completion, and hidden reasoning up to the cap', async (t) => {
  const { chat } = await start(t)
  const details = { completion_tokens_details: { reasoning_tokens: 300 } }
  const prompt = { messages: [{ role: 'user', content: 'x' }] }
  for (const [name, usage, outputTokens] of [
    ['beside', { prompt_tokens: 9, completion_tokens: 2, total_tokens: 311, ...details }, 302],
    ['within', { prompt_tokens: 9, completion_tokens: 302, total_tokens: 311, ...details }, 302],
    ['without a total', { prompt_tokens: 9, completion_tokens: 302, ...details }, 302],
    ['a total that reasoning explains in part', { prompt_tokens: 9, completion_tokens: 2, total_tokens: 1_000, ...details }, 302],
    ['a total that nothing explains', { prompt_tokens: 9, completion_tokens: 2, total_tokens: 1_000 }, 2],
  ] as const) {
    const turn = await chat(prompt, usage)
    t.match(turn, { inputTokens: 9, outputTokens, estimated: false }, name)
  }
  const hidden = { prompt_tokens: 12, completion_tokens: 9_000, total_tokens: 9_012, ...details }
  t.match(await chat({ ...prompt, max_tokens: 100 }, hidden), { inputTokens: 12, outputTokens: 100 })
})

t.test('never reports more cached tokens than prompt tokens', async (t) => {
  const { gateway, post } = await start(t)
  gateway.demo.script(() => ({
    tokens: 2,
    usage: { prompt_tokens: 12_191, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 12_000 } },
  }))
  for (const [path, body] of [
    ['/v1/responses', { input: 'hi' }],
    ['/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  ] as const) {
    const { usage } = (await (await post(path, body)).json()) as { usage: Record<string, number & { cached_tokens?: number }> }
    const details = usage['input_tokens_details'] ?? usage['prompt_tokens_details']
    const cached = usage['cache_read_input_tokens'] ?? details?.cached_tokens ?? 0
    const prompt = path === '/v1/messages' ? Number.POSITIVE_INFINITY : (usage['input_tokens'] ?? usage['prompt_tokens'] ?? -1)
    t.ok(cached <= prompt, `${path}: ${JSON.stringify(usage)}`)
    if (path === '/v1/messages') t.ok(usage['input_tokens'] !== undefined && usage['input_tokens'] >= 0 && cached < 4_000)
  }
})

/** Of the last event that has one, or of a whole answer; reasoning and cached tokens by their names in each API. */
function readTold(answer: string) {
  const find = (pattern: RegExp): number => Number([...answer.matchAll(pattern)].at(-1)?.[1] ?? Number.NaN)
  return {
    output: find(/"(?:completion|output)_tokens":(\d+)/g),
    reasoning: find(/"(?:reasoning|thinking)_tokens":(\d+)/g),
    total: find(/"total_tokens":(\d+)/g),
  }
}

t.test('members of each API are told the reasoning beside the completion, and never more of it than output', async (t) => {
  const { gateway, post } = await start(t)
  const details = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } })
  for (const [name, usage, output, reasoning] of [
    [
      'xAI',
      {
        prompt_tokens: 12,
        completion_tokens: 1,
        total_tokens: 303,
        prompt_tokens_details: { cached_tokens: 11 },
        ...details(290),
      },
      291,
      290,
    ],
    [
      'Vertex',
      { prompt_tokens: 12, completion_tokens: 50, total_tokens: 140, extra_properties: { google: {} }, ...details(78) },
      128,
      78,
    ],
    ["Gemini's compatible endpoint", { prompt_tokens: 21, completion_tokens: 0, total_tokens: 81, ...details(60) }, 60, 60],
    ['OpenAI', { prompt_tokens: 12, completion_tokens: 128, total_tokens: 140, ...details(78) }, 128, 78],
    ['a report above the cap', { prompt_tokens: 12, completion_tokens: 9_000, total_tokens: 9_012, ...details(8_990) }, 500, 500],
  ] as const) {
    gateway.demo.script(() => ({ tokens: 2, usage }))
    for (const stream of [false, true])
      for (const [path, body] of [
        [
          '/v1/chat/completions',
          {
            max_tokens: 500,
            messages: [{ role: 'user', content: 'hi' }],
            stream_options: stream ? { include_usage: true } : undefined,
          },
        ],
        ['/v1/messages', { max_tokens: 500, messages: [{ role: 'user', content: 'hi' }] }],
        ['/v1/responses', { max_output_tokens: 500, input: 'hi' }],
      ] as const) {
        const told = readTold(await (await post(path, { stream, ...body })).text())
        const title = `${name}, ${path}${stream ? ', streamed' : ''}`
        t.match(told, { output, reasoning }, title)
        if (path !== '/v1/messages') t.equal(told.total, usage.prompt_tokens + output, title)
        const [turn] = await gateway.listTurns()
        t.match(turn, { inputTokens: usage.prompt_tokens, outputTokens: output }, title)
      }
  }
})
