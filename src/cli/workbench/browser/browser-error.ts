/** Maps an error of the browser library to a protocol error. `doing` describes the action for the user: "fill #name". */
import { WorkbenchError } from '../protocol/protocol.ts'

export function toBrowserError(error: unknown, action: string): WorkbenchError {
  if (error instanceof WorkbenchError) return error
  const words = error instanceof Error ? error.message : String(error)
  const net = /net::(ERR_[A-Z_]+)/.exec(words)?.[1]
  const [first = ''] = words.split('\n')
  if (net) return new WorkbenchError('navigation_failed', `${action}: ${net}`, { details: { net }, cause: error })
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new WorkbenchError('timeout', `${action}: timed out`, { details: { message: first }, cause: error })
  }
  if (/Element is not an <input>|not editable|not an? (?:<select>|checkbox)|Not a checkbox|Element is not/i.test(words)) {
    return new WorkbenchError('element_not_editable', `${action}: the element does not accept this`, {
      details: { message: first },
      cause: error,
    })
  }
  if (/selector|Unexpected token|is not a valid|while parsing/i.test(words)) {
    return new WorkbenchError('invalid_params', `${action}: ${first}`, { cause: error })
  }
  if (/has been closed|Target closed|crashed/i.test(words)) {
    return new WorkbenchError('not_found', `${action}: the page was closed`, { cause: error })
  }
  return new WorkbenchError('navigation_failed', `${action}: ${first}`, { details: { message: first }, cause: error })
}
