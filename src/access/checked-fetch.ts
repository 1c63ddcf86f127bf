/** Bounds the JSON that libraries parse themselves: documents that they fetch, and tokens. */
import { checkJsonBounds } from '../system/parse-json.ts'
import '../system/vendor/undici-fetch.ts'

/** Key sets and metadata of large providers have some ten kilobytes. */
const maxAnswerBytes = 1024 * 1024

/** A `fetch` whose answers have a bounded size and depth, tokens within them included. It rejects others before the caller parses them. */
export function createCheckedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (address, init) => {
    const response = await fetch(address, init)
    if (response.body === null) return response
    const text = await readText(response.body)
    checkJsonBounds(text)
    for (const [token] of text.matchAll(tokenPattern)) checkToken(token)
    const { status, statusText, headers } = response
    return new Response(text, { status, statusText, headers })
  }
}

const tokenPattern = /(?<![\w.-])[\w-]+\.[\w-]+\.[\w-]*/g

/** A JSON Web Token's header and claims, before a library decodes them. @throws JsonBoundsError */
export function checkToken(token: string): void {
  for (const part of token.split('.', 2)) checkJsonBounds(Buffer.from(part, 'base64url').toString('utf8'))
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
