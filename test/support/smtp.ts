/** A real SMTP server that takes letters, refuses some for now, and may keep whoever sends waiting. */
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'

export interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

export interface SmtpServer {
  readonly url: string
  readonly received: Received[]
  /** Whose letters are whole and not answered yet. */
  readonly held: readonly string[]
  /** From now on no letter is answered; what is given back answers all. */
  hold(): () => void
}

export interface SmtpOptions {
  /** How many letters are answered with a temporary failure first. */
  readonly refuse?: number
  /** Whose letters always are. */
  readonly refuseTo?: string
}

export async function startSmtp(t: Test, { refuse = 0, refuseTo }: SmtpOptions = {}): Promise<SmtpServer> {
  const received: Received[] = []
  const held: string[] = []
  let refused = 0
  let open: Promise<void> | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const to = envelope.rcptTo.map(({ address }) => address)
        held.push(...to)
        await open
        held.splice(0, to.length)
        if (refused++ < refuse || to.some((address) => address === refuseTo))
          return done(Object.assign(new Error('try again later'), { responseCode: 451 }))
        received.push({ from: envelope.mailFrom.address, to, text: Buffer.concat(chunks).toString('utf8') })
        return done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)))
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}`,
    received,
    held,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      open = promise
      return () => {
        open = undefined
        resolve()
      }
    },
  }
}
