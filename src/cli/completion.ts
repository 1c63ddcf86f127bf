/** Completion scripts for bash, zsh and fish, made from the table alone: they complete without starting `svc`. */
import type { Option, Row } from './command.ts'
import { globalOptions, isGroup } from './command.ts'
import { standardOptions, visible } from './help.ts'
import type { Language } from './text.ts'
import { inLanguage } from './text.ts'
import type { Place } from './walk.ts'
import { walk } from './walk.ts'

export const shells = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof shells)[number]

/** The script needs nothing but the shell. */
export function completionScript(shell: Shell, rows: readonly Row[], language: Language): string {
  const places = walk(rows).map((place) => toSpot(place, language))
  const root: Spot = {
    at: '',
    names: [''],
    words: commandWords(rows, language),
    options: [...globalOptions, ...standardOptions].map((option) => toWord(option, language)),
  }
  return scripts[shell]([root, ...places])
}

/** What can follow when the words so far have led to `at`, e.g. `/boost/checkin`. */
interface Spot {
  readonly at: string
  /** The name and its aliases, as the last word of the way. */
  readonly names: readonly string[]
  readonly words: readonly Word[]
  readonly options: readonly OptionWord[]
}

interface Word {
  readonly word: string
  readonly text: string
}

interface OptionWord extends Word {
  readonly short: string | undefined
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

function toSpot({ path, row }: Place, language: Language): Spot {
  const options = isGroup(row) ? [] : visible(row.options ?? [])
  const choices = isGroup(row) ? [] : (row.arguments ?? []).flatMap((argument) => argument.choices ?? [])
  return {
    at: `/${path.join('/')}`,
    names: [row.name, ...(row.aliases ?? [])],
    words: isGroup(row) ? commandWords(row.commands, language) : choices.map((word) => ({ word, text: '' })),
    options: [...options, ...globalOptions, ...standardOptions.slice(0, 1)].map((option) => toWord(option, language)),
  }
}

function commandWords(rows: readonly Row[], language: Language): readonly Word[] {
  return visible(rows).map((row) => ({ word: row.name, text: inLanguage(row.summary, language) }))
}

function toWord(option: Option, language: Language): OptionWord {
  return {
    word: `--${option.name}`,
    short: option.short,
    text: inLanguage(option.summary, language),
    takesValue: option.kind !== 'flag',
    choices: option.choices ?? [],
  }
}

const scripts: Readonly<Record<Shell, (spots: readonly Spot[]) => string>> = { bash, zsh, fish }

/** The step from one spot to the next, the same `case` in bash and zsh. */
function steps(spots: readonly Spot[], indent: string): string {
  return spots
    .filter(({ at }) => at !== '')
    .map(({ at, names }) => {
      const above = at.slice(0, at.lastIndexOf('/'))
      return `${indent}${names.map((name) => quote(`${above}/${name}`)).join('|')}) at=${quote(at)} ;;`
    })
    .join('\n')
}

function bash(spots: readonly Spot[]): string {
  const values = spots.flatMap(({ at, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map((option) => {
        const names = [option.word, ...(option.short === undefined ? [] : [`-${option.short}`])]
        return `    ${names.map((name) => quote(`${at}:${name}`)).join('|')}) list=${quote(option.choices.join(' '))}; value=1 ;;`
      }),
  )
  const lists = spots.map(({ at, words, options }) => {
    const all = [words, options].map((part) => part.map(({ word }) => word).join(' '))
    return `    ${quote(at)}) commands=${quote(all[0] ?? '')}; options=${quote(all[1] ?? '')} ;;`
  })
  return `# bash completion for svc. Load it with: source <(svc completion bash)
_svc() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at='' list='' value='' commands='' options='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
${steps(spots, '      ')}
    esac
  done
  COMPREPLY=()
  case "$at:$previous" in
${values.join('\n')}
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
complete -o default -F _svc svc
`
}

function zsh(spots: readonly Spot[]): string {
  const values = spots.flatMap(({ at, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map((option) => {
        const names = [option.word, ...(option.short === undefined ? [] : [`-${option.short}`])]
        return `    ${names.map((name) => quote(`${at}:${name}`)).join('|')}) list=(${option.choices.map(quote).join(' ')}); value=1 ;;`
      }),
  )
  const described = ({ word, text }: Word) => quote(`${word.replaceAll(':', '\\:')}:${text}`)
  const lists = spots.map(
    ({ at, words, options }) =>
      `    ${quote(at)}) commands=(${words.map(described).join(' ')}); options=(${options.map(described).join(' ')}) ;;`,
  )
  return `#compdef svc
# zsh completion for svc. Load it with: source <(svc completion zsh), or save it as _svc in a folder of $fpath.
_svc() {
  local at='' value='' i
  local -a list commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
${steps(spots, '      ')}
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${values.join('\n')}
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
if [[ "\${funcstack[1]}" == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`
}

function fish(spots: readonly Spot[]): string {
  const cases = spots
    .filter(({ at }) => at !== '')
    .map(({ at, names }) => {
      const above = at.slice(0, at.lastIndexOf('/'))
      return `            case ${names.map((name) => quote(`${above}/${name}`)).join(' ')}\n                set at ${quote(at)}`
    })
  const completes = spots.flatMap(({ at, words, options }) => {
    const here = `complete -c svc -n ${quote(`__svc_at ${quote(at)}`)}`
    return [
      ...words.map(({ word, text }) => `${here} -f -a ${quote(word)} -d ${quote(text)}`),
      ...options.map(({ word, short, text, takesValue, choices }) => {
        const value = !takesValue ? '' : choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : ' -r'
        return `${here} -l ${word.slice(2)}${short === undefined ? '' : ` -s ${short}`}${value} -d ${quote(text)}`
      }),
    ]
  })
  return `# fish completion for svc. Load it with: svc completion fish | source
function __svc_at
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

/** One word for any of the three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
