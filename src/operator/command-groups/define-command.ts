/** An operator's command: an entry of the command table, and the function that it calls with the values of the command line. */
import type { Argument, Command, CommandGroup, CommandSpec, Option, Program } from '../../command-table/command.ts'
import type { ParsedValues } from '../../command-table/parsed-values.ts'
import type { CommandResult, OutputOptions, StreamedResult } from '../output.ts'

export type OperatorCommand = Command<OperatorHandler>
export type OperatorGroup = CommandGroup<OperatorHandler>
export type OperatorProgram = Program<OperatorHandler>

/** Runs a command; undefined where the command has written what it had to write, as a server does. */
export type OperatorHandler = (args: ParsedValues, options: ParsedValues, json: boolean) => Promise<CommandOutput>

type CommandOutput = CommandResult | StreamedResult | undefined

type CommandEntry<Arguments, Options> = Omit<OperatorCommand, 'arguments' | 'options' | 'load'> & {
  readonly arguments?: Arguments
  readonly options?: Options
  /** Imports the function: it receives the arguments in their order, then the options by their names in camel case. */
  readonly load: () => Promise<(...values: [...ArgumentValues<Arguments>, OptionValues<Options>]) => Promise<CommandOutput>>
}

/** The types of the function's parameters are those of the entry's arguments and options. */
export function defineCommand<const Arguments extends readonly Argument[] = [], const Options extends readonly Option[] = []>(
  entry: CommandEntry<Arguments, Options>,
): CommandSpec<OperatorHandler> {
  const { arguments: args = [], options = [] } = entry as { arguments?: readonly Argument[]; options?: readonly Option[] }
  return {
    ...entry,
    load: async () => {
      const handler = (await entry.load()) as unknown as (...values: readonly unknown[]) => Promise<CommandOutput>
      return (argumentValues, optionValues, json) =>
        handler(...readArguments(args, argumentValues), { json, ...readOptions(options, optionValues) })
    },
  }
}

function readArguments(args: readonly Argument[], values: ParsedValues): readonly unknown[] {
  return args.map(({ name, variadic }) => (variadic === true ? values.getList(name) : values.getText(name)))
}

/** An option that was not given is left out. */
function readOptions(options: readonly Option[], values: ParsedValues): Record<string, unknown> {
  const pairs = options.map(({ name, kind }) => {
    const key = toCamelCase(name.replace(/^no-/, ''))
    if (name.startsWith('no-')) return [key, !values.getFlag(name)] as const
    return [key, kind === 'flag' ? values.getFlag(name) || undefined : values.getText(name)] as const
  })
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

type ArgumentValues<Arguments> = Arguments extends readonly [infer First extends Argument, ...infer Rest]
  ? [ArgumentValue<First>, ...ArgumentValues<Rest>]
  : []

type ArgumentValue<Row extends Argument> = Row extends { readonly variadic: true }
  ? readonly string[]
  : Row extends { readonly optional: true }
    ? string | undefined
    : string

type OptionValues<Options> = OutputOptions & (Options extends readonly Option[] ? ValuesOf<Options[number]> : unknown)

type ValuesOf<Row extends Option> = {
  readonly [One in Row as One extends CertainOption ? OptionKey<One['name']> : never]: One extends { readonly kind: 'flag' }
    ? boolean
    : string
} & {
  readonly [One in Row as One extends CertainOption ? never : OptionKey<One['name']>]?: One extends { readonly kind: 'flag' }
    ? true
    : string
}

/** An option that always has a value. */
type CertainOption = { readonly required: true } | { readonly default: string } | { readonly name: `no-${string}` }

type OptionKey<Name extends string> = Name extends `no-${infer Rest}` ? CamelCase<Rest> : CamelCase<Name>

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name
