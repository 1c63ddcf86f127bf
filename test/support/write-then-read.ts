/** A client that writes its whole request before it reads, as many do: it loses a response that arrives with the end of the connection. */
import { connect } from 'node:net'
import { waitUntil } from './wait-until.ts'

/** Writes all of it, as Python's `urllib` does, and reads one response. A failed write loses the response. */
export async function writeThenRead(
  url: string,
  request: string,
): Promise<{ readonly failure: string | null; readonly text: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }).pause()
  let failure: string | null = null
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code ?? error.message))
  await new Promise<void>((resolve) => {
    socket.once('close', resolve)
    socket.write(request, () => resolve())
  })
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.resume()
  await waitUntil(() => socket.destroyed || /\r\n\r\n[^]*\}/.test(text), 'a response')
  socket.destroy()
  return { failure, text }
}
