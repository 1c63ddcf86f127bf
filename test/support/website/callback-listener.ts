/** The address of a program on a member's computer, to which OAuth leads the browser back. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Listens for the OAuth redirect and resolves with its parameters. */
export async function startCallbackListener(t: Test): Promise<{ address: string; callbackParams: Promise<URLSearchParams> }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const callbackParams = new Promise<URLSearchParams>((resolve) => {
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '', address)
      response.end('Done. You can close this page.')
      if (url.pathname === '/callback') resolve(url.searchParams)
    })
  })
  return { address, callbackParams }
}
