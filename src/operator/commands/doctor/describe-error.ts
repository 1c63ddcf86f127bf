/** Errors of libraries as a person reads them. */

/** A library's error message, with the system's code from its cause. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, cause } = error as Error & { code?: unknown }
  const deeper = cause instanceof Error ? (cause as Error & { code?: unknown }).code : undefined
  const word = typeof code === 'string' ? code : typeof deeper === 'string' ? deeper : ''
  return error.message.includes(word) ? error.message : `${error.message} (${word})`
}
