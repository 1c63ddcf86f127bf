/** A tool server on standard input and output with one tool, `lookup`. A program: the clients under test start it. */
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly word?: string } }
}

const tool = {
  name: 'lookup',
  description: 'Looks a word up.',
  inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
}

const handlers: Readonly<Record<string, (message: Message) => object>> = {
  initialize: ({ params }) => ({
    protocolVersion: params?.protocolVersion ?? '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'demo', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ params }) => ({ content: [{ type: 'text', text: `found ${params?.arguments?.word}` }] }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message
  if (message.id === undefined) continue
  const handler = handlers[message.method]
  const outcome = handler === undefined ? { error: { code: -32_601, message: 'unknown method' } } : { result: handler(message) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcome })}\n`)
}
