/** The one error that a command throws on purpose. Only `show-failure.ts` prints it. */
import type { ExitName } from './exit-code.ts'
import type { LocalizedText } from '../command-table/localized-text.ts'

/** Parts of a failure besides its code and its sentence. */
export interface CommandFailureDetails {
  /** Exit code of `svc`; default `failed` (1). */
  readonly exit?: ExitName
  /** The next steps, one line each, e.g. `run: svc login`. */
  readonly hints?: readonly LocalizedText[]
  /** `Ref: …` of an answer from the service; always the last line on standard error. */
  readonly ref?: string
  /** Facts for programs; printed only with `--json`. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/**
 * The only error a command throws on purpose: a stable `code` for scripts, a sentence for the user, an exit code.
 * Any other error is a bug and is shown as one, without a stack trace.
 */
export class CommandFailure extends Error {
  readonly code: string
  readonly text: LocalizedText
  readonly exit: ExitName
  readonly hints: readonly LocalizedText[]
  readonly ref: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: string, text: LocalizedText, details: CommandFailureDetails = {}) {
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

/** A wrong command line: exit 2, and the sentence names the argument at fault. */
export function createUsageFailure(text: LocalizedText, hints: readonly LocalizedText[] = []): CommandFailure {
  return new CommandFailure('usage', text, { exit: 'usage', hints })
}

/** Ctrl-C: exit 130. */
export function createInterruptedFailure(cause?: unknown): CommandFailure {
  return new CommandFailure('interrupted', { en: 'Interrupted.', zh: '已中断。' }, { exit: 'interrupted', cause })
}

/** A file that cannot be written, with the reason of the system in plain words where it is a usual one. */
export function createUnwritableFailure(path: string, cause: unknown): CommandFailure {
  const { code = '', message } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : { message: String(cause) }
  const { en, zh } = Object.hasOwn(writeReasons, code)
    ? writeReasons[code as keyof typeof writeReasons]
    : { en: message, zh: message }
  return new CommandFailure('file_unwritable', { en: `Cannot write ${path}: ${en}.`, zh: `无法写入 ${path}：${zh}。` }, { cause })
}

const writeReasons = {
  EACCES: { en: 'you have no permission', zh: '没有权限' },
  EEXIST: { en: 'it already exists', zh: '文件已存在' },
  EISDIR: { en: 'it is a folder', zh: '该路径是文件夹' },
  ENOENT: { en: 'there is no such folder', zh: '文件夹不存在' },
  ENOSPC: { en: 'the disk is full', zh: '磁盘已满' },
  EROFS: { en: 'the disk cannot be written to', zh: '磁盘为只读' },
} as const
