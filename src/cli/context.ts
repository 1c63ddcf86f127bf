/** Everything a command may use from outside itself; a test can pass its own. */
import type { Environment } from './user-config/credentials.ts'
import type { Language, LocalizedText } from '../command-table/localized-text.ts'

export interface Context {
  /** The data that the command was asked for. */
  readonly stdout: OutputSink
  /** Messages beside the data. */
  readonly stderr: OutputSink
  readonly stdin: NodeJS.ReadStream
  readonly environment: Environment
  readonly language: Language
  /** `--json` was given. */
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  /** `--timeout`, in milliseconds; undefined leaves the command its own default. */
  readonly timeoutMs: number | undefined
  /** `--socket`; undefined selects the default path. */
  readonly socketPath: string | undefined
  /** `--no-start` or SVC_NO_START: a missing workbench is not started. */
  readonly noStart: boolean
  /** Aborts on Ctrl-C; `svc` then ends with 130. */
  readonly signal: AbortSignal
  /** Until the returned function is called, Ctrl-C calls `handler` instead of aborting `signal`, for a turn of a conversation. */
  interceptInterrupts(handler: () => void): () => void
  /** What runs once the command has ended, also by a failure; each entry handles its own failures. */
  readonly afterwards: (() => Promise<void>)[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array

  /**
   * Prints the command's only result: with `--json` the document `{"ok":true,"result":…}`, otherwise the text
   * (with one line feed at its end; an empty text prints nothing). Text from outside must have passed through `sanitizeText`.
   */
  printResult(value: unknown, text: () => string): void
  /** Prints one JSON object on one line, for commands that report several events with `--json`. */
  printEvent(value: unknown): void
  /** Prints a line on standard error; not with `--quiet`. */
  printNote(text: LocalizedText): void
  /** Prints a line on standard error; only with `--verbose`. */
  printDetail(text: LocalizedText): void
  /** Returns the sentence in the user's language. */
  localize(text: LocalizedText): string
  /**
   * After one second shows a line on standard error if that is a terminal. The returned function removes it and may be called
   * twice.
   */
  showProgress(text: LocalizedText): () => void
}

/** An output: a terminal or a pipe. */
export interface OutputSink {
  readonly isTerminal: boolean
  /** Columns of the terminal; 80 where unknown. */
  readonly columns: number
  /** Rows of the terminal; 24 where unknown. */
  readonly rows: number
  /** True on a terminal without NO_COLOR, `--no-color` and TERM=dumb. FORCE_COLOR also sets it. */
  readonly styled: boolean
  /** True where styles are used and the terminal is known to open links (OSC 8). */
  readonly hyperlinks: boolean
  /** Writes bytes unchanged, for a file that is not text. */
  write(text: string | Uint8Array): void
}
