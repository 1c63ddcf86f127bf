/** What an error of an SMTP server means for the email and for those after it. */
import type { DeliveryOutcome } from '../../domain/member-mailer.ts'

interface SmtpFailure {
  /**
   * `permanent`: the server refused this email for good. `temporary`: a later attempt may succeed. `unanswered`: the server took a command
   * and did not answer, so it may have the email.
   */
  readonly kind: 'permanent' | 'temporary' | 'unanswered'
  /** Whether other emails meet the same failure, because it came before a recipient was named. */
  readonly isOfServer: boolean
  /** Codes for the log. */
  readonly reason: string
}

interface SmtpError {
  readonly code?: unknown
  readonly responseCode?: unknown
  readonly response?: unknown
  readonly message?: unknown
  readonly command?: unknown
}

export function classifySmtpFailure(error: unknown): SmtpFailure {
  const { code, responseCode, command, message } = error as SmtpError
  const reason = describeSmtpError(error)
  const isRefusal = code === 'EENVELOPE' || code === 'EMESSAGE'
  const isOfEmail = isRefusal && command !== 'MAIL FROM'
  // The library itself refuses some addresses, without a response.
  const isPermanent = isRefusal && (command === 'API' || (typeof responseCode === 'number' && responseCode >= 500))
  if (isPermanent) return { kind: 'permanent', isOfServer: !isOfEmail, reason }
  // Not the timeouts of connecting and greeting, which have messages of their own.
  if (code === 'ETIMEDOUT' && message === 'Timeout') return { kind: 'unanswered', isOfServer: false, reason }
  return { kind: 'temporary', isOfServer: !isOfEmail, reason }
}

/** SMTP errors quote addresses, so only codes are logged: the system's and the server's (`EDNS ENOTFOUND`, `EAUTH 535 5.7.8`). */
export function describeSmtpError(error: unknown): string {
  const { code, responseCode, message, response } = error as SmtpError
  const { originalCode } = error as { readonly originalCode?: unknown }
  const system = /\bE[A-Z]{4,}\b/.exec(typeof message === 'string' ? message : '')?.[0]
  const enhancedCode = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(typeof response === 'string' ? response : '')?.[1]
  const codes = [code, originalCode, system, responseCode, enhancedCode].filter(
    (item) => typeof item === 'string' || typeof item === 'number',
  )
  return [...new Set(codes.map(String))].join(' ') || 'unknown'
}

/** Whether the server's certificate is signed by an authority that this machine does not know, or by itself. */
export function isPrivateCertificateError(error: unknown): boolean {
  const { originalCode, message } = error as { readonly originalCode?: unknown; readonly message?: unknown }
  return /SELF_SIGNED|UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)|self-signed certificate|unable to (?:verify|get)/.test(
    `${String(originalCode)} ${String(message)}`,
  )
}

export function toDeliveryOutcome(error: unknown, isContentSent: boolean): DeliveryOutcome {
  const { code, responseCode } = error as SmtpError
  if (typeof responseCode !== 'number') return isContentSent ? 'unknown' : 'unavailable'
  // A refused sign-in is the operator's to mend, and no property of the email.
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE') ? 'rejected' : 'unavailable'
}
