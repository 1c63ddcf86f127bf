/** The delivery of a single email whose outcome the caller needs. */
import type { Clock, Timer } from '../../system/clock.ts'
import type { DeliveryOutcome } from '../../domain/member-mailer.ts'
import { describeSmtpError, toDeliveryOutcome } from './smtp-failure.ts'
import { toConnectionOptions, toMessage } from './smtp-transport.ts'
import type { AddressedEmail, SmtpServer } from './smtp-transport.ts'

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
export async function deliverBySmtp(
  server: SmtpServer,
  email: AddressedEmail,
  signal: AbortSignal,
  clock: Clock,
): Promise<Delivery> {
  const { createTransport } = await import('nodemailer')
  let isContentSent = false
  const ignore = (): void => undefined
  const transport = createTransport({
    ...toConnectionOptions(server),
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
  const delayedAbort = createDelayedAbort(signal, clock)
  try {
    const isInTime = await Promise.race([
      transport.sendMail(toMessage(server.from, email)).then(() => true),
      delayedAbort.promise,
    ])
    if (isInTime) return { outcome: 'sent', reason: null }
    return { outcome: isContentSent ? 'unknown' : 'unavailable', reason: 'the service is stopping' }
  } catch (error) {
    return { outcome: toDeliveryOutcome(error, isContentSent), reason: describeSmtpError(error) }
  } finally {
    delayedAbort.cancel()
    transport.close()
  }
}

/** Resolves with false some time after the signal, so that a shutdown does not wait for a slow server. */
function createDelayedAbort(
  signal: AbortSignal,
  clock: Clock,
): { readonly promise: Promise<false>; readonly cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<false>()
  let timer: Timer | undefined
  const onAbort = (): void => {
    timer = clock.after(maxAbortDelayMs, () => resolve(false))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    promise,
    cancel() {
      timer?.cancel()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
