/** A real SMTP server that accepts emails, refuses some temporarily, and may delay its answers. */
import type { Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { TestScope } from '../test-scope.ts'

export interface ReceivedEmail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

export interface SmtpServer {
  readonly url: string
  readonly received: ReceivedEmail[]
  /** Recipients of complete emails that are not answered yet. */
  readonly pendingRecipients: readonly string[]
  /** Connections accepted so far. */
  countConnections(): number
  /** Closes the open connections, as a server does with unused ones. */
  closeConnections(): void
  /** Delays all answers until the returned function is called. */
  pauseReplies(): () => void
}

export interface SmtpOptions {
  /** Number of emails that are first refused temporarily. */
  readonly temporaryFailures?: number
  /** A recipient whose emails are always refused. */
  readonly refusedRecipient?: string
  /** The status of a refusal; 451 by default, which is temporary. */
  readonly refusalCode?: number
}

export async function startSmtpServer(
  t: TestScope,
  { temporaryFailures = 0, refusedRecipient, refusalCode = 451 }: SmtpOptions = {},
): Promise<SmtpServer> {
  const received: ReceivedEmail[] = []
  const pendingRecipients: string[] = []
  let failureCount = 0
  let paused: Promise<void> | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 1_000,
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const to = envelope.rcptTo.map(({ address }) => address)
        pendingRecipients.push(...to)
        await paused
        pendingRecipients.splice(0, to.length)
        if (failureCount++ < temporaryFailures || to.some((address) => address === refusedRecipient))
          return done(Object.assign(new Error('try again later'), { responseCode: refusalCode }))
        received.push({ from: envelope.mailFrom.address, to, text: Buffer.concat(chunks).toString('utf8') })
        return done()
      })
    },
  })
  server.on('error', () => undefined)
  const sockets = new Set<Socket>()
  let connectionCount = 0
  server.server.on('connection', (socket: Socket) => {
    connectionCount += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)))
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}`,
    received,
    pendingRecipients,
    countConnections: () => connectionCount,
    closeConnections() {
      for (const socket of sockets) socket.end()
    },
    pauseReplies() {
      const { promise, resolve } = Promise.withResolvers<void>()
      paused = promise
      return () => {
        paused = undefined
        resolve()
      }
    },
  }
}
