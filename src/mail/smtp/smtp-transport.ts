/** Connections to the SMTP server of the configuration, and an email as nodemailer takes it. */
import type { Transporter } from 'nodemailer'
import { isLoopbackHost } from '../../system/loopback.ts'
import type { EmailContent } from '../templates/email-templates.ts'

/** The mail settings of a server. */
export interface SmtpServer {
  /** `smtp://user:password@host:port` or `smtps://…`. */
  readonly url: string
  /** Sender of all emails. */
  readonly from: string
  /** Whether the password may leave this machine without TLS. */
  readonly allowPlaintextPassword: boolean
  /** The host name of the site, for HELO; null if unknown. */
  readonly siteHost: string | null
}

export interface AddressedEmail extends EmailContent {
  readonly to: string
}

/** The code stays readable in the source of an email, which is all there is of one in a folder. */
const textEncoding = 'quoted-printable'

export function toMessage(from: string, { to, subject, text, html, unsubscribeUrl }: AddressedEmail) {
  return {
    from,
    // An object, so that a comma or bracket in an address does not make it a list.
    to: { name: '', address: to },
    subject,
    text,
    html,
    textEncoding,
    headers: {
      // No absence note answers it (RFC 3834).
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl === undefined
        ? {}
        : { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}

/** The settings that each connection to the server has, for the queue, a single delivery and `doctor`. */
export function toConnectionOptions({ url, from, allowPlaintextPassword, siteHost }: SmtpServer): Record<string, unknown> {
  const { protocol, username, hostname } = new URL(url)
  const isPasswordSafe = protocol === 'smtps:' || username === '' || allowPlaintextPassword || isLoopbackHost(hostname)
  const name = findHeloName(from, siteHost)
  return {
    url,
    // Without it, TLS is used where the server offers it, and the password is sent where it does not.
    ...(isPasswordSafe ? {} : { requireTLS: true }),
    // Otherwise the machine's name, or `[127.0.0.1]`, which many relays refuse.
    ...(name === null ? {} : { name }),
  }
}

/** Whether `MAIL FROM` names a domain to which bounces can be sent. */
export function isSenderDeliverable(from: string): boolean {
  return isPublicHostName(getSenderDomain(from))
}

function findHeloName(from: string, siteHost: string | null): string | null {
  const names = [...(siteHost === null ? [] : [siteHost]), getSenderDomain(from)]
  return names.find((name) => isPublicHostName(name)) ?? null
}

/** `address`, without the name before it. */
export function getSenderAddress(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from.trim()
}

function getSenderDomain(from: string): string {
  return getSenderAddress(from).split('@').at(-1) ?? ''
}

/** A name with a dot, and no network address. */
function isPublicHostName(name: string): boolean {
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i.test(name)
}

/** Messages over one connection; some servers end a connection after a hundred. */
const maxMessagesPerConnection = 100
/** An unused connection is closed before the server, or our own command timeout, closes it. */
const maxIdleMs = 20_000
/** Until the connection is open, and until the server has greeted. */
const connectTimeoutMs = 15_000
/** A server may query other servers about the recipient, or scan the message, before it answers. */
const defaultCommandTimeoutMs = 30_000

export interface EmailTransport {
  send(email: AddressedEmail, id: string): Promise<void>
  /** Whether an email could be sent now: connects and signs in. @throws the library's error */
  verify(): Promise<void>
  close(): void
}

export function createSmtpTransport(
  server: SmtpServer,
  { maxConnections, commandTimeoutMs = defaultCommandTimeoutMs }: { maxConnections: number; commandTimeoutMs?: number },
): EmailTransport {
  // Imported with the first email, because a start should not wait for it.
  let transporter: Promise<Transporter> | undefined
  const connect = (): Promise<Transporter> =>
    (transporter ??= import('nodemailer').then(({ createTransport }) =>
      // In one object: a second argument has defaults for messages, where timeouts are ignored.
      createTransport({
        ...toConnectionOptions(server),
        // A new connection for each email, with its TLS handshake and authentication, takes most of the time.
        pool: true,
        maxConnections,
        maxMessages: maxMessagesPerConnection,
        // A message that was lost with its connection is retried by our queue, which counts the attempts.
        maxRequeues: 1,
        idleTimeout: Math.min(maxIdleMs, commandTimeoutMs / 2),
        connectionTimeout: Math.min(connectTimeoutMs, commandTimeoutMs),
        // Shorter than the timeout of commands, to distinguish a server that never greeted from one that may have the email.
        greetingTimeout: Math.min(connectTimeoutMs, commandTimeoutMs / 2),
        socketTimeout: commandTimeoutMs,
      } as Parameters<typeof createTransport>[0]),
    ))
  return {
    async verify() {
      await (await connect()).verify()
    },
    async send(email) {
      const transport = await connect()
      await transport.sendMail(toMessage(server.from, email))
    },
    close() {
      transporter?.then(
        (transport) => transport.close(),
        // It was never opened.
        () => undefined,
      )
    },
  }
}
