/** Raw HTTP: sends bytes unchanged and returns the received bytes unchanged. */
import { connect } from 'node:net'

const maxWaitMs = 60_000

export interface RawResponse {
  /** Everything received until the peer closed or was silent. */
  readonly text: string
  /** Status codes of the answers, in order. */
  readonly statuses: readonly number[]
  readonly closed: boolean
}

interface RawOptions {
  /** The number of answers before which silence means nothing; Infinity: the peer closes. */
  readonly answers?: number
  readonly quietMs?: number
}

/** Sends `parts` one after the other and reads until the peer closes, or sends nothing for `quietMs` after its answers; a minute at most. */
export function sendRaw(
  url: string,
  parts: string | Buffer | readonly (string | Buffer)[],
  { answers = 1, quietMs = 150 }: RawOptions = {},
): Promise<RawResponse> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    let quiet: NodeJS.Timeout | undefined
    const readStatuses = (): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
    const finish = (closed: boolean): void => {
      clearTimeout(quiet)
      clearTimeout(deadline)
      socket.destroy()
      resolve({ text, closed, statuses: readStatuses() })
    }
    const deadline = setTimeout(() => finish(false), maxWaitMs)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      clearTimeout(quiet)
      if (readStatuses().length >= answers) quiet = setTimeout(() => finish(false), quietMs)
    })
    socket.on('close', () => finish(true))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) return
      clearTimeout(deadline)
      reject(error)
    })
    socket.on('connect', () => {
      for (const part of [parts].flat()) socket.write(part as string | Buffer)
    })
  })
}
