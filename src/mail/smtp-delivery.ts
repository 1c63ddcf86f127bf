/** An email as nodemailer takes it, what its errors mean, and the delivery of a single email whose outcome the caller needs. */
import type { DeliveryOutcome } from '../domain/services/member-mailer.ts'
import type { EmailContent } from './email-templates.ts'

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
    ...(unsubscribeUrl === undefined
      ? {}
      : { headers: { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}

/** SMTP errors quote addresses, so only codes are logged: the system's and the server's (`EDNS ENOTFOUND`, `EAUTH 535 5.7.8`). */
export function describeSmtpError(error: unknown): string {
  const { code, responseCode, message, response } = error as Record<'code' | 'responseCode' | 'message' | 'response', unknown>
  const system = /\bE[A-Z]{4,}\b/.exec(typeof message === 'string' ? message : '')?.[0]
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(typeof response === 'string' ? response : '')?.[1]
  const codes = [code, system, responseCode, enhanced].filter((item) => typeof item === 'string' || typeof item === 'number')
  return [...new Set(codes.map(String))].join(' ') || 'unknown'
}

/** Until the connection is open, and until the server has greeted; then for each answer. */
const connectTimeoutMs = 10_000
const commandTimeoutMs = 15_000
/** How long a shutdown waits for an answer. */
const maxAbortDelayMs = 3_000

interface Delivery {
  readonly outcome: DeliveryOutcome
  /** Why it was not sent, for the log. */
  readonly reason: string | null
}

/**
 * Sends one email over a connection of its own, without another attempt. Once the content was announced with DATA, only the server's answer
 * decides whether the email was delivered.
 */
export async function deliverBySmtp(url: string, from: string, email: AddressedEmail, signal: AbortSignal): Promise<Delivery> {
  const { createTransport } = await import('nodemailer')
  let isContentSent = false
  const ignore = (): void => undefined
  const transport = createTransport({
    url,
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    socketTimeout: commandTimeoutMs,
    // The only place where the library shows how far it came.
    transactionLog: true,
    logger: {
      level: ignore,
      trace: ignore,
      debug: (entry: { readonly tnx?: string }, command: unknown) => {
        if (entry.tnx === 'client' && command === 'DATA') isContentSent = true
      },
      info: ignore,
      warn: ignore,
      error: ignore,
      fatal: ignore,
    },
  } as Parameters<typeof createTransport>[0])
  const aborted = createDelayedAbort(signal)
  try {
    const isInTime = await Promise.race([transport.sendMail(toMessage(from, email)).then(() => true), aborted.promise])
    if (isInTime) return { outcome: 'sent', reason: null }
    return { outcome: isContentSent ? 'unknown' : 'unavailable', reason: 'the service is stopping' }
  } catch (error) {
    return { outcome: toOutcome(error, isContentSent), reason: describeSmtpError(error) }
  } finally {
    aborted.cancel()
    transport.close()
  }
}

function toOutcome(error: unknown, isContentSent: boolean): DeliveryOutcome {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown }
  if (typeof responseCode !== 'number') return isContentSent ? 'unknown' : 'unavailable'
  // A refused sign-in is the operator's to mend, and no property of the email.
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE') ? 'rejected' : 'unavailable'
}

/** Resolves with false some time after the signal, so that a shutdown does not wait for a slow server. */
function createDelayedAbort(signal: AbortSignal): { readonly promise: Promise<false>; readonly cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<false>()
  let timer: NodeJS.Timeout | undefined
  const onAbort = (): void => {
    timer = setTimeout(() => resolve(false), maxAbortDelayMs)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    promise,
    cancel() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}
