/**
 * The types of the command table. Every command of `svc` is one entry. The parser, the help, the shell completions, the man page and
 * the README's table are generated from the entries, so they cannot contradict each other.
 */
import type { Context } from '../context.ts'
import type { ExitCode } from '../exit-code.ts'
import type { LocalizedText } from '../localized-text.ts'
import type { ParsedValues } from './parsed-values.ts'

/** A command, or a group of commands (`svc workspace …`, to any depth). */
export type CommandSpec = Command | CommandGroup

interface CommandBase {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line, no full stop. */
  readonly summary: LocalizedText
  /** Details beyond the summary: paragraphs for the help and the man page. */
  readonly description?: LocalizedText
  /** The help begins with these; the first is the most common use. Whole command lines, including `svc`. */
  readonly examples: readonly [Example, ...Example[]]
  /** Left out of help and completions, e.g. a worker that a command starts for itself. */
  readonly hidden?: boolean
}

export interface Command extends CommandBase {
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  /** Imports the code of the command only when it runs, so that `svc --version` stays fast. */
  readonly load: () => Promise<{ readonly run: CommandHandler }>
}

export interface CommandGroup extends CommandBase {
  readonly commands: readonly CommandSpec[]
  /** The command that runs when none is named: `svc boost` is `svc boost status`. Without it the group's help is shown (exit 2). */
  readonly defaultCommand?: string
}

export interface Example {
  readonly line: string
  readonly text: LocalizedText
}

export interface Argument {
  readonly name: string
  readonly summary: LocalizedText
  /** Default: required. */
  readonly optional?: boolean
  /** Takes all remaining arguments; only on the last one. Read with `args.getList(name)`. */
  readonly variadic?: boolean
  readonly choices?: readonly string[]
}

export interface Option {
  /** Long name without dashes, e.g. `wait`; `no-stream` is a flag that is off by default and read with `options.getFlag('no-stream')`. */
  readonly name: string
  /** One letter without the dash. */
  readonly short?: string
  readonly summary: LocalizedText
  /**
   * `flag` has no value; `text` one; `number` one that must be a finite number ≥ 0 (usage error otherwise);
   * `list` may be repeated (`--env A=1 --env B=2`).
   */
  readonly kind: 'flag' | 'text' | 'number' | 'list'
  /** Shown in help: `--title <text>`. Required for all kinds but `flag`. */
  readonly placeholder?: string
  readonly required?: boolean
  readonly choices?: readonly string[]
  /** Shown in help only; the command applies the default. */
  readonly defaultText?: LocalizedText
  readonly hidden?: boolean
}

/**
 * Runs the command. Prints through the context, throws `CommandFailure` for expected failures, and may return an exit code
 * other than 0 for a success; returning nothing means 0.
 */
export type CommandHandler = (
  context: Context,
  args: ParsedValues,
  options: ParsedValues,
  table: readonly CommandSpec[],
) => Promise<ExitCode | void>

export function isCommandGroup(spec: CommandSpec): spec is CommandGroup {
  return 'commands' in spec
}

/** Options that every command accepts, before or after its name. */
export const globalOptions = [
  { name: 'json', kind: 'flag', summary: { en: 'print JSON for programs', zh: '输出供程序使用的 JSON' } },
  { name: 'quiet', short: 'q', kind: 'flag', summary: { en: 'print only results and failures', zh: '只输出结果和错误' } },
  {
    name: 'verbose',
    short: 'v',
    kind: 'flag',
    summary: { en: 'print details on standard error', zh: '在标准错误上输出更多信息' },
  },
  {
    name: 'timeout',
    kind: 'number',
    placeholder: 'seconds',
    summary: { en: 'how long to wait for an answer', zh: '等待响应的秒数' },
  },
  { name: 'no-color', kind: 'flag', summary: { en: 'no colours and no styles', zh: '不使用颜色和样式' } },
  {
    name: 'socket',
    kind: 'text',
    placeholder: 'path',
    summary: { en: "the workbench's socket", zh: '工作台的套接字路径' },
  },
  {
    name: 'no-start',
    kind: 'flag',
    summary: { en: 'do not start the workbench when it is not running', zh: '工作台未运行时不自动启动' },
  },
] as const satisfies readonly Option[]
