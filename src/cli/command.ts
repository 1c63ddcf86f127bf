/**
 * The command table's type. Every command of `svc`, of the service and of the workbench alike, is one row; the parser, the
 * help, the shell completions, the man page and the README's table are all made from the rows, so none can contradict another.
 */
import type { Context } from './context.ts'
import type { ExitCode } from './exit-code.ts'
import type { Text } from './text.ts'
import type { Values } from './values.ts'

/** A command, or a group of commands (`svc workspace …`, to any depth). */
export type Row = Command | CommandGroup

interface Named {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line, no full stop. */
  readonly summary: Text
  /** What the summary does not say; paragraphs for the help and the man page. */
  readonly description?: Text
  /** Help begins with these; the first is the most usual use. Whole command lines, `svc` included. */
  readonly examples: readonly [Example, ...Example[]]
  /** Left out of help and completions, e.g. the worker a command starts for itself. */
  readonly hidden?: boolean
}

export interface Command extends Named {
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  /** The code behind the row; imported only when this command runs, so that `svc --version` stays quick. */
  readonly load: () => Promise<{ readonly run: Run }>
}

export interface CommandGroup extends Named {
  readonly commands: readonly Row[]
  /** The command that runs when none is named: `svc boost` is `svc boost status`. Without it the group's help is shown (exit 2). */
  readonly defaultCommand?: string
}

export interface Example {
  readonly line: string
  readonly text: Text
}

export interface Argument {
  readonly name: string
  readonly summary: Text
  /** Default: required. */
  readonly optional?: boolean
  /** Takes all remaining words; only on the last argument. Read with `args.list(name)`. */
  readonly variadic?: boolean
  readonly choices?: readonly string[]
}

export interface Option {
  /** Long name without dashes, e.g. `wait`; `no-stream` makes a flag that is off by default and read as `options.flag('no-stream')`. */
  readonly name: string
  /** One letter without the dash. */
  readonly short?: string
  readonly summary: Text
  /**
   * `flag` has no value; `text` one; `number` one that must be a finite number ≥ 0 (usage error otherwise);
   * `list` may be repeated (`--env A=1 --env B=2`).
   */
  readonly kind: 'flag' | 'text' | 'number' | 'list'
  /** Shown in help: `--title <text>`. Needed for all kinds but `flag`. */
  readonly placeholder?: string
  readonly required?: boolean
  readonly choices?: readonly string[]
  /** Shown in help; the command itself supplies it. */
  readonly defaultText?: Text
  readonly hidden?: boolean
}

/**
 * Does the work. Prints through the context, throws `CommandFailure` for what can go wrong, and may return an exit code
 * where a success is not 0; returning nothing means 0.
 */
export type Run = (context: Context, args: Values, options: Values, table: readonly Row[]) => Promise<ExitCode | void>

export function isGroup(row: Row): row is CommandGroup {
  return 'commands' in row
}

/** Options that every command takes, before or after its name. */
export const globalOptions = [
  { name: 'json', kind: 'flag', summary: { en: 'print JSON for programs', zh: '输出供程序使用的 JSON' } },
  { name: 'quiet', short: 'q', kind: 'flag', summary: { en: 'print only results and failures', zh: '只输出结果和错误' } },
  { name: 'verbose', short: 'v', kind: 'flag', summary: { en: 'say more on standard error', zh: '在标准错误上输出更多信息' } },
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
