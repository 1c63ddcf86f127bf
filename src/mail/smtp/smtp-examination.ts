/** Tries an SMTP server for `doctor`: connection, TLS, sign-in and the sender, without sending an email. */
import type SmtpConnection from 'nodemailer/lib/smtp-connection/index.js'
import { createSmtpTransport, getSenderAddress, toConnectionOptions } from './smtp-transport.ts'
import type { AddressedEmail, SmtpServer } from './smtp-transport.ts'

const defaultTimeoutMs = 15_000
/** The library sends commands of our own in a sign-in of our own. */
const senderCheck = 'SENDER-CHECK'

/** The server refuses the address of `mail.from`. */
export class SenderRefused extends Error {}

/** Connects, signs in, and names the sender. @throws the library's error, or `SenderRefused` */
export async function examineSmtpServer(server: SmtpServer, timeoutMs = defaultTimeoutMs): Promise<void> {
  const [{ createTransport }, { default: Connection }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/smtp-connection'),
  ])
  // Parsed by the library, so that the address means here what it means for emails.
  const { options } = createTransport({
    ...toConnectionOptions(server),
    connectionTimeout: timeoutMs,
    // Shorter than the timeout of a silent connection, so that a server that never greets is named as such.
    greetingTimeout: timeoutMs / 2,
    socketTimeout: timeoutMs,
  } as Parameters<typeof createTransport>[0]) as unknown as {
    readonly options: SmtpConnection.Options & { readonly auth?: SmtpConnection.Credentials }
  }
  let refusal: string | undefined
  const connection = new Connection({
    ...options,
    customAuth: {
      async [senderCheck]({ sendCommand }) {
        const { response, status } = await sendCommand(`MAIL FROM:<${getSenderAddress(server.from)}>`)
        if (status >= 300) refusal = response
        return true
      },
    },
  })
  const failure = Promise.withResolvers<never>()
  connection.on('error', failure.reject)
  const run = (start: (done: (error?: Error | null) => void) => void): Promise<void> =>
    Promise.race([
      failure.promise,
      new Promise<void>((resolve, reject) => start((error) => (error == null ? resolve() : reject(error)))),
    ])
  try {
    await run((done) => connection.connect(done))
    const { auth } = options
    if (auth !== undefined) await run((done) => connection.login(auth, done))
    await run((done) => connection.login({ method: senderCheck } as unknown as SmtpConnection.Credentials, done))
    if (refusal !== undefined) throw new SenderRefused(refusal.trim())
  } finally {
    connection.close()
  }
}

/** @throws the library's error */
export async function sendTestEmail(server: SmtpServer, email: AddressedEmail): Promise<void> {
  const { send, close } = createSmtpTransport(server, { maxConnections: 1, commandTimeoutMs: defaultTimeoutMs })
  try {
    await send(email, '')
  } finally {
    close()
  }
}
