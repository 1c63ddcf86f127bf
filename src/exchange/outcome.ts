/** The ways an exchange can be cut short, and how anything thrown becomes a failure. */
import { GatewayError } from '../errors.ts'
import type { Usage } from './exchange.ts'

/** The client has gone. Not a failure: what was produced is settled. */
export class ClientLeft extends Error {
  readonly usage: Usage

  constructor(usage: Usage) {
    super('the client left')
    this.name = 'ClientLeft'
    this.usage = usage
  }
}

/** What nobody classified is an internal error; its words stay in the log. */
export function toFailure(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : new GatewayError('internal_error', { cause: thrown })
}
