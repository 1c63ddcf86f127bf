/** Generates completion scripts for bash, zsh and fish from the command table; they complete without starting the program. */
import type { CommandSpec, Option, Program } from './command.ts'
import { isCommandGroup } from './command.ts'
import { standardOptions, filterVisible } from './help.ts'
import type { Language } from './localized-text.ts'
import { translate } from './localized-text.ts'
import type { CommandPath } from './flatten-commands.ts'
import { flattenCommands } from './flatten-commands.ts'

export type Shell = keyof typeof scriptGenerators

/** The script needs nothing but the shell: bash, zsh or fish. */
export function createCompletionScript<Handler>(shell: string, program: Program<Handler>, language: Language): string {
  const { commands, globalOptions } = program
  const nodes = flattenCommands(commands).map((place) => toCompletionNode(place, globalOptions, language))
  const root: CompletionNode = {
    path: '',
    names: [''],
    words: toCommandWords(commands, language),
    options: [...globalOptions, ...standardOptions].map((option) => toOptionWord(option, language)),
  }
  if (!isShell(shell)) throw new TypeError(`there is no completion for ${shell}`)
  return scriptGenerators[shell]([root, ...nodes], program.name)
}

/** The words that can follow after the words so far have led to `path`, e.g. `/boost/checkin`. */
interface CompletionNode {
  readonly path: string
  /** The name and its aliases, as the final word of the path. */
  readonly names: readonly string[]
  readonly words: readonly CompletionWord[]
  readonly options: readonly OptionWord[]
}

interface CompletionWord {
  readonly word: string
  readonly text: string
}

interface OptionWord extends CompletionWord {
  readonly short: string | undefined
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

function toCompletionNode(
  { path, spec }: CommandPath<unknown>,
  globalOptions: readonly Option[],
  language: Language,
): CompletionNode {
  const options = isCommandGroup(spec) ? [] : filterVisible(spec.options ?? [])
  const choices = isCommandGroup(spec) ? [] : (spec.arguments ?? []).flatMap((argument) => argument.choices ?? [])
  return {
    path: `/${path.join('/')}`,
    names: [spec.name, ...(spec.aliases ?? [])],
    words: isCommandGroup(spec) ? toCommandWords(spec.commands, language) : choices.map((word) => ({ word, text: '' })),
    options: [...options, ...globalOptions, ...standardOptions.slice(0, 1)].map((option) => toOptionWord(option, language)),
  }
}

function toCommandWords(specs: readonly CommandSpec<unknown>[], language: Language): readonly CompletionWord[] {
  return filterVisible(specs).map((row) => ({ word: row.name, text: translate(row.summary, language) }))
}

function toOptionWord(option: Option, language: Language): OptionWord {
  return {
    word: `--${option.name}`,
    short: option.short,
    text: translate(option.summary, language),
    takesValue: option.kind !== 'flag',
    choices: option.choices ?? [],
  }
}

const scriptGenerators = { bash: renderBash, zsh: renderZsh, fish: renderFish }

function isShell(word: string): word is Shell {
  return Object.hasOwn(scriptGenerators, word)
}

/** The transition from one node to the next, the same `case` in bash and zsh. */
function renderTransitions(nodes: readonly CompletionNode[], indent: string): string {
  return nodes
    .filter(({ path }) => path !== '')
    .map(({ path, names }) => {
      const above = path.slice(0, path.lastIndexOf('/'))
      return `${indent}${names.map((name) => quoteForShell(`${above}/${name}`)).join('|')}) at=${quoteForShell(path)} ;;`
    })
    .join('\n')
}

/** The options that take a value, with their choices as an assignment of the shell. */
function renderValueCases(nodes: readonly CompletionNode[], renderList: (choices: readonly string[]) => string): string {
  return nodes
    .flatMap(({ path, options }) => options.filter(({ takesValue }) => takesValue).map((option) => ({ path, ...option })))
    .map(({ path, word, short, choices }) => {
      const names = [word, ...(short === undefined ? [] : [`-${short}`])]
      return `    ${names.map((name) => quoteForShell(`${path}:${name}`)).join('|')}) list=${renderList(choices)}; value=1 ;;`
    })
    .join('\n')
}

function renderBash(nodes: readonly CompletionNode[], program: string): string {
  const values = renderValueCases(nodes, (choices) => quoteForShell(choices.join(' ')))
  const lists = nodes.map(({ path, words, options }) => {
    const all = [words, options].map((part) => part.map(({ word }) => word).join(' '))
    return `    ${quoteForShell(path)}) commands=${quoteForShell(all[0] ?? '')}; options=${quoteForShell(all[1] ?? '')} ;;`
  })
  return `# bash completion for ${program}. Load it with: source <(${program} completion bash)
_${program}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at='' list='' value='' commands='' options='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
${renderTransitions(nodes, '      ')}
    esac
  done
  COMPREPLY=()
  case "$at:$previous" in
${values}
  esac
  if [ -n "$value" ]; then
    [ -n "$list" ] && COMPREPLY=($(compgen -W "$list" -- "$current"))
    return 0
  fi
  case "$at" in
${lists.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
  esac
}
complete -o default -F _${program} ${program}
`
}

function renderZsh(nodes: readonly CompletionNode[], program: string): string {
  const values = renderValueCases(nodes, (choices) => `(${choices.map(quoteForShell).join(' ')})`)
  const describeWord = ({ word, text }: CompletionWord) => quoteForShell(`${word.replaceAll(':', '\\:')}:${text}`)
  const lists = nodes.map(
    ({ path, words, options }) =>
      `    ${quoteForShell(path)}) commands=(${words.map(describeWord).join(' ')}); options=(${options.map(describeWord).join(' ')}) ;;`,
  )
  return `#compdef ${program}
# zsh completion for ${program}. Load it with: source <(${program} completion zsh), or save it as _${program} in a folder of $fpath.
_${program}() {
  local at='' value='' i
  local -a list commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
${renderTransitions(nodes, '      ')}
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${values}
  esac
  if [[ -n "$value" ]]; then
    if (( \${#list} )); then compadd -a list; else _files; fi
    return
  fi
  case "$at" in
${lists.join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o option options
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`
}

function renderFish(nodes: readonly CompletionNode[], program: string): string {
  const cases = nodes
    .filter(({ path }) => path !== '')
    .map(({ path, names }) => {
      const above = path.slice(0, path.lastIndexOf('/'))
      return `            case ${names.map((name) => quoteForShell(`${above}/${name}`)).join(' ')}\n                set at ${quoteForShell(path)}`
    })
  const completes = nodes.flatMap(({ path, words, options }) => {
    const here = `complete -c ${program} -n ${quoteForShell(`__${program}_at ${quoteForShell(path)}`)}`
    return [
      ...words.map(({ word, text }) => `${here} -f -a ${quoteForShell(word)} -d ${quoteForShell(text)}`),
      ...options.map(({ word, short, text, takesValue, choices }) => {
        const value = !takesValue ? '' : choices.length > 0 ? ` -x -a ${quoteForShell(choices.join(' '))}` : ' -r'
        return `${here} -l ${word.slice(2)}${short === undefined ? '' : ` -s ${short}`}${value} -d ${quoteForShell(text)}`
      }),
    ]
  })
  return `# fish completion for ${program}. Load it with: ${program} completion fish | source
function __${program}_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at/$word"
${cases.join('\n')}
        end
    end
    test "$at" = "$argv[1]"
end
${completes.join('\n')}
`
}

/** Quotes one word for all three shells. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
