/** Marks for the cache, settings and signed thinking pass between clients and an upstream of `kind: 'anthropic'`, and to no other upstream. */
import t from 'tap'
import { startScriptedModel } from '../../../clients/support/scripted-model.ts'
import { setUpAnthropicGateway as setUp } from '../../../../support/gateway/scripted-gateway.ts'

t.test('keeps marks for the cache, reasoning settings and signed thinking of a Messages client', async (t) => {
  const content = [
    { type: 'redacted_thinking', data: 'hidden' },
    { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  ]
  const { server, post } = await setUp(t, () => ({ content }))
  const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const tools = [{ name: 'look', input_schema: { type: 'object' }, ...cached }]
  const system = [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: 'Be kind.', ...cached },
    { type: 'text', text: 'Today.' },
  ]
  const settings = { max_tokens: 200, tools, system, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }
  const first = { role: 'user', content: [{ type: 'text', text: 'Hello!', ...cached }] }
  const expected = {
    system: [
      { text: 'Be brief.' },
      { text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: undefined } },
      { text: 'Today.', cache_control: undefined },
    ],
    tools: [{ name: 'look', cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  }
  for (const padding of ['', ' word'.repeat(30_000)])
    for (const stream of [false, true]) {
      const start = { role: 'user', content: [...first.content, { type: 'text', text: `Go.${padding}` }] }
      const response = await post('/v1/messages', { ...settings, stream, messages: [start] })
      const blocks = stream ? readBlocks(await response.text()) : ((await response.json()) as { content: object[] }).content
      t.match(blocks, [{ type: 'redacted_thinking' }, { type: 'thinking', thinking: 'Let me see.' }, { type: 'tool_use' }])
      t.notMatch(JSON.stringify(blocks), /hidden|"sig"/, 'both are sealed')
      const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen.', ...cached }
      const messages = [start, { role: 'assistant', content: blocks }, { role: 'user', content: [result] }]
      t.equal((await post('/v1/messages', { ...settings, stream, messages })).status, 200)
      t.match(server.requests.at(-1), {
        ...expected,
        messages: [
          { content: [{ text: 'Hello!', cache_control: { type: 'ephemeral' } }, { text: /Go\./ }] },
          { role: 'assistant', content },
          { content: [{ type: 'tool_result', tool_use_id: 'toolu_1', cache_control: { type: 'ephemeral' } }] },
        ],
      })
    }
  t.same(server.rejected, [])
})

t.test('keeps signed thinking of a Responses client, sealed', async (t) => {
  const content = [
    { type: 'redacted_thinking', data: 'hidden' },
    { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  ]
  const { server, post } = await setUp(t, (_, before) => (before % 2 === 0 ? { content } : {}))
  const settings = { tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }] }
  const start = { role: 'user', content: 'Hello!' }
  const { output } = (await (await post('/v1/responses', { ...settings, input: [start] })).json()) as { output: object[] }
  t.match(output, [
    { type: 'reasoning', summary: [] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see.' }] },
    { type: 'function_call' },
  ])
  t.notMatch(JSON.stringify(output), /hidden|"sig"/)
  const result = { type: 'function_call_output', call_id: 'toolu_1', output: 'Seen.' }
  t.equal((await post('/v1/responses', { ...settings, input: [start, ...output, result] })).status, 200)
  t.match(server.requests[1]?.messages, [{ role: 'user' }, { role: 'assistant', content }, { role: 'user' }])
  t.same(server.rejected, [])
})

t.test('sends none of the private fields to an upstream of another kind', async (t) => {
  const model = await startScriptedModel(t, () => ({ text: 'Hello.' }))
  const { post } = await setUp(t, () => ({}), {
    upstreams: { other: { baseUrl: model.url } },
    products: { 'svc-2.1': { targets: [{ upstream: 'other', model: 'm' }] } },
  })
  const cached = { cache_control: { type: 'ephemeral' } }
  for (const padding of ['', ' word'.repeat(30_000)])
    t.equal(
      (
        await post('/v1/messages', {
          max_tokens: 200,
          thinking: { type: 'adaptive' },
          output_config: { effort: 'high' },
          system: [{ type: 'text', text: 'Be brief.', ...cached }],
          tools: [{ name: 'look', input_schema: { type: 'object' }, ...cached }],
          messages: [{ role: 'user', content: [{ type: 'text', text: `Hi${padding}`, ...cached }] }],
        })
      ).status,
      200,
    )
  t.equal(model.requests.length, 2)
  t.notMatch(JSON.stringify(model.requests), /anthropic|cache_control/)
})

/** The blocks of a streamed message. */
function readBlocks(text: string): object[] {
  const blocks: Record<string, unknown>[] = []
  for (const [, json = ''] of text.matchAll(/^data: (.*)$/gm)) {
    const {
      type,
      index,
      content_block: block,
      delta,
    } = JSON.parse(json) as {
      type: string
      index: number
      content_block: Record<string, unknown>
      delta: Record<string, unknown>
    }
    if (type === 'content_block_start') blocks[index] = block
    if (type !== 'content_block_delta') continue
    const open = blocks[index]!
    if (delta['thinking'] !== undefined) open['thinking'] = `${String(open['thinking'])}${String(delta['thinking'])}`
    if (delta['signature'] !== undefined) open['signature'] = delta['signature']
  }
  return blocks
}
