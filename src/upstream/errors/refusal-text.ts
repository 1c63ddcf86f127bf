/**
 * The sentence of an upstream's refusal: one line, without what servers put around it. That is the source of a Jinja template, a Python
 * traceback, the request itself, or advice to the operator.
 */
import { cutAtWord, stripRouterText } from './sanitize-text.ts'

export function toRefusalText(message: string): string {
  const text = stripRouterText(cutAtWord(message))
  const validationError = describeValidationErrors(text)
  if (validationError !== null) return validationError
  if (!hasSource.test(text)) return text
  // llama.cpp writes the source first and the error after it, older versions of it the other way round.
  const error = text.split('\n').findLast((line) => errorLine.test(line)) ?? findSentence(text)
  return (
    error
      .replace(errorLine, '')
      .replace(sourceTrailer, '')
      .trim()
      // The quote that the beginning of the line opened.
      .replace(/^([^"]*)"\.?$/, '$1')
  )
}

/** The first line that is neither empty nor a line of a template. */
function findSentence(text: string): string {
  return text.split('\n').find((line) => /\w/.test(line) && !/^\s*(?:File |at |-+$|\.\.\.|\{)/.test(line)) ?? ''
}

/** Texts that contain more than the sentence. */
const hasSource =
  /\bjinja\b|\bin source:|\bat row \d+, column \d+:|\{[{%#]|\n\s*(?:File "|Traceback\b|at \S+ \()|; (?:messages|tools|tool_choice|tool_calls|response_format) = [[{"]/i

/** What stands before the sentence in its line. */
const errorLine =
  /^\s*(?:(?:Failed to parse messages: )?(?:Error: )?(?:Jinja Exception|Error rendering prompt with jinja template): "?|Error: )(?:Error: )?/i

/** What follows the sentence in its line: template source, a position in it, or the request. */
const sourceTrailer =
  /(?:\bat row \d+, column \d+:|\{[{%#]|; (?:messages|tools|tool_choice|tool_calls|response_format) = [[{"]|\. This is usually an issue with the model's prompt template)[^]*$/i

/**
 * Pydantic's list of what is wrong with a body, as llama-cpp-python sends it: the first error that tells more than that a message of this
 * role is none of another role.
 */
function describeValidationErrors(text: string): string | null {
  if (!/\bvalidation errors?\b/.test(text)) return null
  const errors = [...text.matchAll(/'loc': \('body', ([^()]{1,200})\), 'msg': (?:'([^'\n]{1,300})'|"([^"\n]{1,300})")/g)].map(
    ([, location = '', single, double]) => ({ path: toFieldPath(location), problem: single ?? double ?? '' }),
  )
  const error = errors.find(({ path }) => !path.endsWith('.role')) ?? errors[0]
  return error === undefined ? null : `${error.path}: ${error.problem}`
}

/** `'messages', 1, 'ChatCompletionRequestAssistantMessage', 'content'` as `messages[1].content`. */
function toFieldPath(location: string): string {
  return location
    .split(', ')
    .filter((step) => !/^'[A-Z]/.test(step))
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step.replaceAll("'", '')}`))
    .join('')
    .slice(1)
}
