/** What `svc` writes: standard output and error as sinks, and one line of JSON that no terminal acts on. */
import type { Environment } from './credentials.ts'
import type { Sink } from './context.ts'
import type { Output } from './surroundings.ts'

/** A process's stream as a sink. A reader that went away (`svc models | head -1`) is no failure: `gone` is called once. */
export function toSink(stream: Output, environment: Environment, noColor: boolean, gone: () => void): Sink {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    gone()
  })
  return {
    isTerminal: stream.isTTY === true,
    // Asked each time: a window may be made narrower.
    get columns() {
      return stream.columns ?? 80
    },
    styled: isStyled(stream.isTTY === true, environment.variables, noColor),
    write: (text) => {
      stream.write(text)
    },
  }
}

/**
 * One line of JSON. `JSON.stringify` leaves DEL, the C1 controls and the direction overrides as they are, which a terminal
 * may act on; escaped they are the same JSON.
 */
export function toJsonLine(value: unknown): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escape)}\n`
}

/** `--no-color` first, then FORCE_COLOR before NO_COLOR, which is the order Node itself has. */
function isStyled(isTerminal: boolean, variables: Environment['variables'], noColor: boolean): boolean {
  const force = variables['FORCE_COLOR'] ?? ''
  if (noColor) return false
  if (force !== '') return force !== '0'
  return isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb'
}
