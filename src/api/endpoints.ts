/** All endpoints by area: the source of the documents, and compared with the routes by a test. */
import * as chat from './models/chat.ts'
import * as diagnostics from './diagnostics.ts'
import * as connect from './oauth.ts'
import * as embeddings from './models/embeddings.ts'
import type { Endpoint } from './endpoint.ts'
import * as gemini from './models/gemini.ts'
import * as images from './models/images.ts'
import * as devices from './membership/devices.ts'
import * as keys from './membership/keys.ts'
import * as orders from './membership/orders.ts'
import * as plans from './membership/plans.ts'
import * as redeemCodes from './membership/redeem-codes.ts'
import * as sessions from './membership/sessions.ts'
import * as signIn from './membership/sign-in.ts'
import * as keyUsage from './usage.ts'
import * as usage from './membership/usage.ts'
import * as usageAlerts from './membership/usage-alerts.ts'
import * as messages from './models/messages.ts'
import * as models from './models/models.ts'
import * as notices from './notices.ts'
import * as operations from './operations.ts'
import * as payments from './payments.ts'
import * as operatorMembers from './operator/members.ts'
import * as operatorNotices from './operator/notices.ts'
import * as operatorRecords from './operator/audit.ts'
import * as operatorOrders from './operator/orders.ts'
import * as operatorRouting from './operator/routing.ts'
import * as operatorTurns from './operator/turns.ts'
import * as operators from './operator/operators.ts'
import * as responses from './models/responses.ts'
import * as tools from './tools.ts'

export const endpointsByArea = {
  Chat: [...collectEndpoints(chat), ...collectEndpoints(responses), ...collectEndpoints(messages), ...collectEndpoints(gemini)],
  Images: collectEndpoints(images),
  Embeddings: collectEndpoints(embeddings),
  Models: collectEndpoints(models),
  Tools: collectEndpoints(tools),
  Notices: collectEndpoints(notices),
  'Signing in': collectEndpoints(signIn),
  'Sessions and audit': collectEndpoints(sessions),
  'Device login': collectEndpoints(devices),
  Keys: collectEndpoints(keys),
  'Usage and boosts': [...collectEndpoints(keyUsage), ...collectEndpoints(usage), ...collectEndpoints(usageAlerts)],
  Plans: [...collectEndpoints(plans), ...collectEndpoints(redeemCodes)],
  'Buying and orders': collectEndpoints(orders),
  Payments: collectEndpoints(payments),
  'Programs that sign in': collectEndpoints(connect),
  'Operator API': [
    ...collectEndpoints(operatorMembers),
    ...collectEndpoints(operatorTurns),
    ...collectEndpoints(operatorRouting),
    ...collectEndpoints(operatorOrders),
    ...collectEndpoints(operatorRecords),
    ...collectEndpoints(operatorNotices),
    ...collectEndpoints(operators),
  ],
  Operations: [...collectEndpoints(operations), ...collectEndpoints(diagnostics)],
} as const satisfies Record<string, readonly NamedEndpoint[]>

/** An endpoint with its name, which is the operation id in `openapi.json`. */
export interface NamedEndpoint {
  readonly name: string
  readonly endpoint: Endpoint
}

function collectEndpoints(area: Readonly<Record<string, unknown>>): readonly NamedEndpoint[] {
  return Object.entries(area).flatMap(([name, value]) => (isEndpoint(value) ? [{ name, endpoint: value }] : []))
}

function isEndpoint(value: unknown): value is Endpoint {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'security' in value
}
