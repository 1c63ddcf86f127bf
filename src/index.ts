/**
 * The public interface for plugins and configuration files. Everything else may change; changes here are listed in CHANGELOG.md. The
 * service itself does not import it.
 */
export { checkConfig, ConfigError, defineGateway, env } from './config/config.ts'
export type { GatewayConfig, GatewayInput } from './config/config.ts'
export { errorCatalog, GatewayError, invalidRequest } from './errors.ts'
export type { Action, ErrorCode, FailureDetails, Stage } from './errors.ts'
export { definePlugin } from './exchange/plugins/plugin.ts'
export type { Plugin, ResponseHead } from './exchange/plugins/plugin.ts'
export { ClientDisconnected, zeroUsage } from './exchange/exchange.ts'
export type {
  Admission,
  UpstreamRequestMode,
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
export {
  getBodyHash,
  getFields,
  isCapAdjustable,
  hasImages,
  isRecord,
  getLastUserMessage,
  getPromptText,
} from './exchange/request/chat-request.ts'
export type { ChatRequest } from './exchange/request/chat-request.ts'
export { findMediaAddresses } from './exchange/request/media-addresses.ts'
export { getMediaFigures, measurePrompt } from './exchange/request/prompt-size.ts'
export { addChargeHeaders } from './exchange/turn-charge.ts'
export { createTurnDetails, createTurnTrace } from './exchange/turn-details.ts'
export { adoptRequestId } from './exchange/request-id.ts'
export { droppedFieldsHeader, findForbiddenField, splitFields, withUsageReport } from './exchange/request/field-policy.ts'
export { encodeForTarget } from './codecs/encode-for-target.ts'
export type { OpaqueJson } from './exchange/request/raw-json.ts'
export { parseBearerToken } from './access/bearer.ts'
export { refuseConcurrency } from './access/limits/concurrency-limiter.ts'
export { toRateLimitHeaders } from './access/limits/limits.ts'
export { computeAffordableOutputTokens, computeCredits, computeTurnPrice } from './domain/billing/catalog/price.ts'
export type { Hold, Reservation } from './domain/billing/ledger.ts'
export { isPurchasedPack } from './domain/billing/orders/order.ts'
export { createQuotaRefusal } from './domain/billing/quota-refusal.ts'
export type { QuotaShortage } from './domain/billing/quota-refusal.ts'
export { planIncludes, getPlan } from './domain/billing/catalog/plan.ts'
export { resolvePlan } from './domain/billing/subscriptions/terms.ts'
export { poolForTier } from './domain/billing/catalog/product.ts'
export type { Plan, Window } from './domain/billing/catalog/plan.ts'
export type { Pool, Product } from './domain/billing/catalog/product.ts'
export { formatDecimal, formatMoney, formatPrice, getMinorDigits, parseMoney, toMoney } from './domain/billing/money.ts'
export type { Money } from './domain/billing/money.ts'
export { PaymentNotificationError, PaymentProviderError } from './domain/billing/orders/payment-provider.ts'
export type {
  Checkout,
  NotificationAnswer,
  NotificationEndpoint,
  NotificationFacts,
  NotificationHint,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  PaymentRef,
  PlanPriceAtProvider,
  ProviderInvoice,
  ProviderSubscriptionFacts,
  ProviderSubscriptions,
  RawNotification,
  RefundFacts,
} from './domain/billing/orders/payment-provider.ts'
export type { CreatePaymentProvider, PaymentProviderDeps } from './payments/provider-module.ts'
export { toSearchRequest } from './tools/search/query.ts'
export type {
  Credential,
  LiveTarget,
  PluginLog,
  PluginServices,
  PluginSettings,
  RateDecision,
} from './exchange/plugins/plugin-services.ts'
export { UpstreamFailure } from './exchange/upstream-failure.ts'
export { classifyFailure } from './upstream/errors/classify-failure.ts'
