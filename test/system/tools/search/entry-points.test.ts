import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import t from 'tap'
import type { Test } from 'tap'
import { createDocumentJsonSchema } from '../../../../src/tools/search/document-schema.ts'
import type { SearchDocument } from '../../../../src/api/search-document.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const isPublished = new AjvJsonSchemaValidator().getValidator(
  createDocumentJsonSchema({ searchSchema: 'svc.search.v1' }, 'svc-2.1-search'),
)

function rest({ url }: TestGateway, token: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function connectV2(t: Test, { url }: TestGateway, token: string): Promise<ClientV2> {
  const client = new ClientV2({ name: 'test', version: '1.0.0' })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new TransportV2(new URL(`${url}/v1/mcp`), { requestInit: { headers } }))
  t.teardown(() => client.close())
  return client
}

async function connectV1(t: Test, { url }: TestGateway, token: string): Promise<ClientV1> {
  const client = new ClientV1({ name: 'test', version: '1.0.0' })
  const headers = { authorization: `Bearer ${token}` }
  // The older package's types do not support exact optional properties.
  await client.connect(new TransportV1(new URL(`${url}/v1/mcp`), { requestInit: { headers } }) as never)
  t.teardown(() => client.close())
  return client
}

/** The fields that two answers to one query share: all but the id and the time. */
function pickComparableFields(document: SearchDocument): object {
  const { id: _, created: __, ...rest } = document
  return rest
}

t.test('returns the same document at the same price through all three entry points', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  const query = 'What is new in Node 26?'

  const plain = await rest(gateway, token, { name: 'web_search', arguments: { query } })
  t.equal(plain.status, 200)
  t.match(plain.headers.get('content-type'), /^application\/json/)
  const document = (await plain.json()) as SearchDocument

  const tool = await (await connectV2(t, gateway, token)).callTool({ name: 'web_search', arguments: { query } })
  const older = await (await connectV1(t, gateway, token)).callTool({ name: 'web_search', arguments: { query } })
  const messages = [{ role: 'user', content: query }]
  const chat = (await (await gateway.chat(token, { model: 'svc-2.1-search', messages })).json()) as {
    model: string
    choices: { message: { content: string; annotations: { url_citation: { start_index: number; end_index: number } }[] } }[]
    usage: { total_tokens: number }
  }
  const streamed = await (
    await gateway.chat(token, { model: 'svc-2.1-search', messages, stream: true, stream_options: { include_usage: true } })
  ).text()
  const chunks = streamed
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice(6)) as { choices: { delta: { content?: string } }[]; usage?: unknown })
  t.ok(streamed.endsWith('data: [DONE]\n\n'))
  t.equal(chunks.length, 4, 'a role, one content chunk, an end, and the requested usage')

  const { content, annotations } = chat.choices[0]?.message ?? { content: '', annotations: [] }
  t.same(
    annotations.map(({ url_citation: { start_index: start, end_index: end } }) => content.slice(start, end)),
    ['[1]', '[2]', '[3]'],
    'a chat’s citations point into the content it got',
  )

  const documents = [
    document,
    tool.structuredContent as unknown as SearchDocument,
    older.structuredContent as unknown as SearchDocument,
    JSON.parse(chat.choices[0]!.message.content) as SearchDocument,
    JSON.parse(chunks[1]!.choices[0]!.delta.content!) as SearchDocument,
  ]
  for (const [door, one] of documents.entries()) {
    t.same(pickComparableFields(one), pickComparableFields(document), `door ${door} brings the same`)
    t.ok(isPublished(one).valid, `door ${door} brings what is published`)
  }
  t.equal(document.query, query)
  t.equal(document.results.length, 3)
  t.ok(document.answer.length > 0)
  t.same(JSON.parse((tool.content as { text: string }[])[0]!.text), tool.structuredContent, "the text is the document's JSON")
  t.equal(chat.model, 'svc-2.1-search')
  t.equal(chat.usage.total_tokens, document.usage.total_tokens)

  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(id)
  t.equal(turns.length, 5, 'each search is one turn; listing tools is none')
  t.equal(new Set(turns.map(({ credits }) => credits)).size, 1, 'all were charged the same')
  t.equal(new Set(turns.map(({ reserved }) => reserved)).size, 1, 'all reserved the same')
  t.ok(turns[0]!.credits > 0)
})

t.test('lists the tool to both official clients under its name', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  for (const client of [await connectV2(t, gateway, token), await connectV1(t, gateway, token)]) {
    const { tools } = await client.listTools()
    t.same(
      tools.map(({ name }) => `mcp__${client.getServerVersion()?.name}__${name}`),
      ['mcp__svc__web_search'],
    )
    t.equal(tools[0]!.outputSchema?.['title'], 'svc.search.v1')
    t.same(tools[0]!.annotations, { readOnlyHint: true, openWorldHint: true })
  }
  t.equal((await gateway.listTurns(id)).length, 0, 'listing costs nothing')
})
