/** How a command fails: the one error that it throws on purpose. It is shown by `show-failure.ts` alone. */
import type { ExitName } from './exit-code.ts'
import type { Text } from './text.ts'

/** What a failure can tell besides its code and its sentence. */
export interface CommandFailureDetails {
  /** How `svc` ends; default `failed` (1). */
  readonly exit?: ExitName
  /** What to do next, one line each, e.g. `run: svc login`. */
  readonly hints?: readonly Text[]
  /** `Ref: …` of an answer from the service; always the last line on standard error. */
  readonly ref?: string
  /** Facts for programs; shown only with `--json`. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/**
 * The only error a command throws on purpose: a stable `code` for scripts, a sentence for people, an exit code.
 * Anything else that is thrown is a bug and is shown as one, without a stack trace.
 */
export class CommandFailure extends Error {
  readonly code: string
  readonly text: Text
  readonly exit: ExitName
  readonly hints: readonly Text[]
  readonly ref: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: string, text: Text, details: CommandFailureDetails = {}) {
    super(typeof text === 'string' ? text : text.en, { cause: details.cause })
    this.name = 'CommandFailure'
    this.code = code
    this.text = text
    this.exit = details.exit ?? 'failed'
    this.hints = details.hints ?? []
    this.ref = details.ref
    this.details = details.details
  }
}

/** The command line is wrong: exit 2, and the sentence says which word. */
export function usageFailure(text: Text, hints: readonly Text[] = []): CommandFailure {
  return new CommandFailure('usage', text, { exit: 'usage', hints })
}

/** Ctrl-C: exit 130. */
export function interrupted(cause?: unknown): CommandFailure {
  return new CommandFailure('interrupted', { en: 'Interrupted.', zh: '已中断。' }, { exit: 'interrupted', cause })
}
