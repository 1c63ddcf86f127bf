/** The hosted tools: discovered, called as plain REST, and spoken to in the Model Context Protocol. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { endpoint } from './endpoint.ts'
import { searchArguments, searchDocument } from './search-document.ts'

const rpcId = z.union([z.string(), z.number(), z.null()])

const message = z.looseObject({ jsonrpc: z.literal('2.0'), id: rpcId.optional() })

export const discoverTools = endpoint({
  method: 'get',
  path: '/v1/mcp',
  who: 'caller',
  about: 'Which tools the plan has, and how they are reached.',
  answer: z.strictObject({
    object: z.literal('mcp.discovery'),
    server: z.strictObject({ name: z.string(), title: z.string(), version: z.string() }),
    protocol: z.literal('mcp'),
    protocolVersions: z.array(z.string()),
    endpoint: z.strictObject({ type: z.literal('streamable-http'), url: z.url() }),
    call: z.strictObject({ method: z.literal('POST'), url: z.url() }),
    tools: z.array(z.looseObject({ name: z.string(), model: z.string().optional(), schema: z.string() })),
  }),
  errors: ['forbidden_origin', 'method_not_allowed'],
})

export const callTool = endpoint({
  method: 'post',
  path: '/v1/mcp/tools/call',
  who: 'caller',
  about: 'Calls a tool: a web search, answered by one document.',
  body: z.object({ name: z.literal('web_search'), arguments: searchArguments }),
  answer: searchDocument.meta({ id: 'SearchDocument' }),
  errors: ['forbidden_origin', ...turnErrors],
})

export const speakProtocol = endpoint({
  method: 'post',
  path: '/v1/mcp',
  who: 'caller',
  about: 'One JSON-RPC message of the Model Context Protocol (streamable HTTP, without sessions).',
  body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string(), id: rpcId.optional() }),
  answer: message,
  media: 'text/event-stream',
  // What is wrong with a message is told in the protocol's own form.
  others: { 400: message, 404: message },
  errors: ['forbidden_origin'],
})
