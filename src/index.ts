/**
 * The public interface: what plugins and configuration files may import, and nothing else. All that is behind it may change; what stands here
 * changes with a word in the CHANGELOG. Nothing of the service itself imports it.
 */
export { checkConfig, ConfigError, defineGateway, env } from './config/config.ts'
export type { GatewayConfig, GatewayInput } from './config/config.ts'
export { catalogue, GatewayError, invalidRequest } from './errors.ts'
export type { Action, Code, FailureDetails, Stage } from './errors.ts'
export { definePlugin } from './exchange/plugin.ts'
export type { Plugin, ResponseHead } from './exchange/plugin.ts'
export { nothingUsed } from './exchange/exchange.ts'
export type {
  Admission,
  Asking,
  Caller,
  Candidate,
  Exchange,
  HeldTurn,
  Inbound,
  Outcome,
  Reply,
  Route,
  Slot,
  Slots,
  Usage,
} from './exchange/exchange.ts'
export { bodyHash, fieldsOf, hasImages, isRecord, lastUserMessage, promptText } from './exchange/chat-request.ts'
export type { ChatRequest } from './exchange/chat-request.ts'
export { promptSize } from './exchange/estimate.ts'
export { adoptId } from './exchange/trace-id.ts'
export { droppedHeader, faultIn, messagesFor, passing, withoutExtras } from './exchange/fields.ts'
export { Printed, printFor } from './exchange/large/printed.ts'
export { bearerToken } from './access/bearer.ts'
export { rateHeaders, tooManyAtOnce } from './access/limits/limits.ts'
export type { RateDecision } from './access/limits/limits.ts'
export { affordableOutput, creditsFor } from './membership/price.ts'
export type { Reservation } from './membership/ledger.ts'
export { planHas, planFor } from './membership/plan.ts'
export { poolOf } from './membership/product.ts'
export type { Plan, Window } from './membership/plan.ts'
export type { Pool, Product } from './membership/product.ts'
export { questionOf } from './tools/search/query.ts'
export type { Credential } from './access/credentials.ts'
export type { LiveTarget, PluginLog, PluginServices, PluginSettings } from './exchange/plugin-services.ts'
export { UpstreamFailure } from './exchange/upstream-failure.ts'
export { classify } from './upstream/failure.ts'
