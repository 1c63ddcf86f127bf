/** The refusal of a wrong command line. */
import type { Language, LocalizedText } from './localized-text.ts'
import { translate } from './localized-text.ts'

/** A wrong command line, for which programs exit with 2: the sentence names the argument at fault, the hints the next steps. */
export class CommandLineError extends Error {
  readonly text: LocalizedText
  readonly hints: readonly LocalizedText[]

  constructor(text: LocalizedText, hints: readonly LocalizedText[]) {
    super(translate(text, 'en'))
    this.name = 'CommandLineError'
    this.text = text
    this.hints = hints
  }
}

/** For a program that prints its failures as plain lines. */
export function renderCommandLineError({ text, hints }: CommandLineError, language: Language): string {
  const label = translate({ en: 'error: ', zh: '错误：' }, language)
  return [label + translate(text, language), ...hints.map((hint) => `  ${translate(hint, language)}`), ''].join('\n')
}
