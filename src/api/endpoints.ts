/** Every endpoint there is, by area: what the documents are made of, and what the routes are held against. */
import * as chat from './chat.ts'
import * as connect from './connect.ts'
import type { Endpoint } from './endpoint.ts'
import * as images from './images.ts'
import * as devices from './membership/devices.ts'
import * as keys from './membership/keys.ts'
import * as plans from './membership/plans.ts'
import * as sessions from './membership/sessions.ts'
import * as signIn from './membership/sign-in.ts'
import * as usage from './membership/usage.ts'
import * as models from './models.ts'
import * as operations from './operations.ts'
import * as tools from './tools.ts'

export const areas = {
  Chat: of(chat),
  Images: of(images),
  Models: of(models),
  Tools: of(tools),
  'Signing in': of(signIn),
  'Sessions and audit': of(sessions),
  'Device login': of(devices),
  Keys: of(keys),
  'Usage and boosts': of(usage),
  Plans: of(plans),
  'Programs that sign in': of(connect),
  Operations: of(operations),
} as const satisfies Record<string, readonly Described[]>

/** With the name it is known by here: the operation's id in `openapi.json`. */
export interface Described {
  readonly name: string
  readonly endpoint: Endpoint
}

function of(area: Readonly<Record<string, unknown>>): readonly Described[] {
  return Object.entries(area).flatMap(([name, value]) => (isEndpoint(value) ? [{ name, endpoint: value }] : []))
}

function isEndpoint(value: unknown): value is Endpoint {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'who' in value
}
