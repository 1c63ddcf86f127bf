/** Options of a command in one line each: the name and the placeholder of its value as the help shows them, the text, and what else it has. */
import type { Option } from './command.ts'
import type { LocalizedText } from './localized-text.ts'

/** What an option may have beside its name, its kind and its text. */
type More = Partial<Omit<Option, 'name' | 'kind' | 'placeholder' | 'summary'>>

/** An option without a value: `defineFlag('yes', …)`. */
export const defineFlag = createDefiner('flag')

/** An option with one value: `defineText('title <text>', …)`. */
export const defineText = createDefiner('text')

/** An option whose value is a number, 0 or more. */
export const defineNumber = createDefiner('number')

/** An option that may be repeated. */
export const defineList = createDefiner('list')

type NameOf<Flags extends string> = Flags extends `${infer Name} <${string}>` ? Name : Flags

function createDefiner<const Kind extends Option['kind']>(kind: Kind) {
  return <const Flags extends string, const Extra extends More = object>(flags: Flags, summary: LocalizedText, more?: Extra) => {
    const [name = '', placeholder = name] = flags.replace('>', '').split(' <')
    return { name: name as NameOf<Flags>, kind, placeholder, summary, ...(more as Extra) }
  }
}
