/** The hosted tools: discovery, plain REST calls, and the Model Context Protocol. */
import { z } from 'zod'
import { turnErrors } from './models/chat.ts'
import { defineEndpoint } from './endpoint.ts'
import { searchArguments, searchDocument } from './search-document.ts'

const message = z.looseObject({ jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]).optional() })

export const discoverTools = defineEndpoint({
  method: 'get',
  path: '/v1/mcp',
  security: 'api_credential',
  summary: 'Lists the tools in the plan and their addresses.',
  response: z.strictObject({
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

export const callTool = defineEndpoint({
  method: 'post',
  path: '/v1/mcp/tools/call',
  security: 'api_credential',
  summary: 'Calls a tool: a web search that returns one document.',
  body: z.object({ name: z.literal('web_search'), arguments: searchArguments }),
  response: searchDocument.meta({ id: 'SearchDocument' }),
  isTurn: true,
  errors: ['forbidden_origin', ...turnErrors],
})

export const postMcpMessage = defineEndpoint({
  method: 'post',
  path: '/v1/mcp',
  security: 'api_credential',
  summary: 'One JSON-RPC message of the Model Context Protocol (streamable HTTP, without sessions).',
  body: z.strictObject({
    jsonrpc: z.literal('2.0'),
    method: z.string(),
    id: z.union([z.string(), z.int()]).optional(),
    params: z.looseObject({}).optional(),
  }),
  response: message,
  mediaType: 'text/event-stream',
  failureFormat: 'json_rpc',
  // The protocol's own errors: of the message, of its method, and of `Accept`.
  otherResponses: { 400: message, 404: message, 406: message },
  // A notification gets no response.
  otherMediaTypes: { 202: null },
  errors: ['forbidden_origin'],
})
