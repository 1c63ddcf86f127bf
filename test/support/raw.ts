/** HTTP by hand: bytes go out as they are written here, and what comes back is shown as it came. */
import { connect } from 'node:net'

export interface RawAnswer {
  /** Everything that was received until the peer closed or fell silent. */
  readonly text: string
  /** Status codes of the answers, in order. */
  readonly statuses: readonly number[]
  readonly closed: boolean
}

/** Sends `parts` one after the other and reads until the peer closes, or for `quietMs` says nothing more. */
export function raw(
  url: string,
  parts: string | Buffer | readonly (string | Buffer)[],
  { quietMs = 150, waitMs = 5_000 } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    let quiet: NodeJS.Timeout | undefined
    const done = (closed: boolean): void => {
      clearTimeout(quiet)
      clearTimeout(late)
      socket.destroy()
      resolve({ text, closed, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)) })
    }
    const late = setTimeout(() => done(false), waitMs)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      clearTimeout(quiet)
      quiet = setTimeout(() => done(false), quietMs)
    })
    socket.on('close', () => done(true))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) return
      clearTimeout(late)
      reject(error)
    })
    socket.on('connect', () => {
      for (const part of [parts].flat()) socket.write(part as string | Buffer)
    })
  })
}
