/** What a command may use of the world; nothing else is reached for, so a test can hand in its own. */
import type { Environment } from './credentials.ts'
import type { Language, Text } from './text.ts'

export interface Context {
  /** Data: what the command was asked for. */
  readonly stdout: Sink
  /** Messages: what is worth knowing besides the data. */
  readonly stderr: Sink
  readonly stdin: NodeJS.ReadStream
  readonly environment: Environment
  readonly language: Language
  /** `--json` was given. */
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  /** `--timeout`, in milliseconds; undefined leaves the command its own default. */
  readonly timeoutMs: number | undefined
  /** `--socket`; undefined leaves the default path. */
  readonly socketPath: string | undefined
  /** `--no-start` or SVC_NO_START: the workbench is not started when it is missing. */
  readonly noStart: boolean
  /** Aborts on Ctrl-C; `svc` then ends with 130. */
  readonly signal: AbortSignal
  /** While it is set Ctrl-C calls `handler` and leaves `signal` alone, for a turn of a dialogue. Returns the way back. */
  interrupted(handler: () => void): () => void
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Bytes that nobody can guess. */
  readonly random: (bytes: number) => Uint8Array

  /**
   * The command's one result: with `--json` the document `{"ok":true,"result":…}`, otherwise the text for people
   * (printed with one newline at its end; an empty text prints nothing). Text from outside must have gone through `terminalText`.
   */
  result(value: unknown, text: () => string): void
  /** One JSON object on one line, for commands that tell several things over time with `--json`. */
  event(value: unknown): void
  /** A line for people on standard error; not with `--quiet`. */
  note(text: Text): void
  /** A line for people on standard error; only with `--verbose`. */
  detail(text: Text): void
  /** The sentence in the user's language. */
  say(text: Text): string
  /**
   * After one second of waiting shows a line on standard error where that is a terminal, and removes it when the returned
   * function is called (calling it twice is harmless).
   */
  progress(text: Text): () => void
}

/** An output: a terminal or a pipe. */
export interface Sink {
  readonly isTerminal: boolean
  /** Columns of the terminal; 80 where unknown. */
  readonly columns: number
  /** Styles may be used: a terminal, and neither NO_COLOR, `--no-color` nor TERM=dumb. FORCE_COLOR turns them on. */
  readonly styled: boolean
  /** Bytes go out as they are, for a file that is no text. */
  write(text: string | Uint8Array): void
}
