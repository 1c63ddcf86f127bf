/**
 * The types of the command table. Every command of `svc` and of `svc-gateway` is one entry. The parser, the help, the shell completions,
 * the manual page and the README's table are generated from the entries, so they cannot contradict each other.
 */
import type { LocalizedText } from './localized-text.ts'

/** A program whose commands load what runs them as `Handler`. */
export interface Program<Handler> {
  readonly name: string
  readonly commands: readonly CommandSpec<Handler>[]
  /** The commands of the first level by what one does with them, in the order of the help. */
  readonly sections: readonly { readonly title: LocalizedText; readonly commands: readonly string[] }[]
  readonly examples: readonly [Example, ...Example[]]
  /** Options that every command accepts, before or after its name. */
  readonly globalOptions: readonly Option[]
  readonly manual: Manual
}

/** What the manual page says beside the commands. */
export interface Manual {
  /** 1 for everyone's commands, 8 for those of an administrator. */
  readonly section: 1 | 8
  readonly summary: LocalizedText
  readonly exitCodes: readonly { readonly code: number; readonly en: string; readonly zh: string }[]
  readonly environment: readonly NamedText[]
  readonly files: readonly NamedText[]
}

export interface NamedText {
  readonly name: string
  readonly summary: LocalizedText
}

/** A command, or a group of commands (`svc workspace …`, to any depth). */
export type CommandSpec<Handler> = Command<Handler> | CommandGroup<Handler>

interface CommandBase {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line, no full stop. */
  readonly summary: LocalizedText
  /** Details beyond the summary: paragraphs for the help and the man page. */
  readonly description?: LocalizedText
  /** The help begins with these; the first is the most common use. Whole command lines, with the program. */
  readonly examples: readonly [Example, ...Example[]]
  /** Left out of help and completions, e.g. a worker that a command starts for itself. */
  readonly hidden?: boolean
}

export interface Command<Handler> extends CommandBase {
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  /** Imports the code of the command only when it runs, so that `--version` stays fast. */
  readonly load: () => Promise<Handler>
}

export interface CommandGroup<Handler> extends CommandBase {
  readonly commands: readonly CommandSpec<Handler>[]
  /** The command that runs when none is named: `svc boost` is `svc boost status`. Without it the group's help is shown (exit 2). */
  readonly defaultCommand?: string
}

export interface Example {
  readonly line: string
  /** Unset where the line explains itself. */
  readonly text?: LocalizedText
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
  /** The value of a `text` option that was not given, which the help shows. */
  readonly default?: string
  /** Shown in help only; the command applies the default. */
  readonly defaultText?: LocalizedText
  readonly hidden?: boolean
}

export function isCommandGroup<Handler>(spec: CommandSpec<Handler>): spec is CommandGroup<Handler> {
  return 'commands' in spec
}
