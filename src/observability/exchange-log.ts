/** The log lines of an ended exchange. */
import type { Logger } from 'pino'
import type { GatewayError } from '../errors.ts'
import { readTraceId } from '../exchange/trace-context.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import { describeAnswer, getUpstreamMessage } from '../upstream/errors/describe-answer.ts'
import { getApiFormat } from './ended-exchange.ts'
import type { EndedExchange } from './ended-exchange.ts'
import type { Log } from './log.ts'

export class ExchangeLog {
  readonly #log: Logger
  readonly #output: Log['output']
  readonly #worker: Log['worker']

  constructor({ log, output, worker }: Log) {
    this.#log = log
    this.#output = output
    this.#worker = worker
  }

  /** Formats the line here, in half the time of the logger; it has the logger's format. */
  write({ x, outcome }: Pick<EndedExchange, 'x' | 'outcome'>, code: string, time: string): void {
    if (!this.#log.isLevelEnabled('info')) return
    const { inbound, debug, lastAttempt } = x
    const failedOutcome = outcome.kind === 'failed' ? outcome : undefined
    const usage = outcome.kind === 'failed' ? undefined : outcome.usage
    const line = {
      level: 'info',
      time,
      worker: this.#worker,
      requestId: x.id,
      traceId: readTraceId(inbound),
      kind: x.kind,
      method: inbound.method,
      path: inbound.path,
      outcome: outcome.kind,
      errorCode: failedOutcome && code,
      stage: failedOutcome?.failure.stage,
      status: failedOutcome?.failure.status,
      streamed: failedOutcome?.streamed,
      inputTokens: usage?.inputTokens,
      cachedInputTokens: usage?.cachedInputTokens,
      outputTokens: usage?.outputTokens,
      contradicted: usage?.disputed,
      account: x.caller?.account.id,
      product: x.product?.id,
      apiFormat: x.kind === 'turn' ? getApiFormat(x) : undefined,
      requestedModel:
        x.product === undefined || x.translation?.requestedModel === x.product.id ? undefined : x.translation?.requestedModel,
      target: lastAttempt.target ?? undefined,
      upstreamStatus: lastAttempt.status ?? undefined,
      credits: x.chargedCredits,
      refunded: debug.quotaRefunded,
      ms: debug.latencyMs,
      msg: 'request',
    }
    this.#output.write(`${JSON.stringify(line)}\n`)
    // The cause of an upstream failure is for the operator alone.
    if (outcome.kind === 'failed' && outcome.failure.stage === 'upstream') {
      this.#log.warn(
        {
          requestId: x.id,
          target: lastAttempt.target,
          errorCode: code,
          ...describeCause(outcome.failure, this.#log.isLevelEnabled('debug')),
        },
        'upstream failed',
      )
    }
  }
}

/** @param withWords whether the upstream's words are logged, which may quote a prompt */
function describeCause({ cause }: GatewayError, withWords: boolean): Record<string, unknown> {
  if (!(cause instanceof UpstreamFailure)) return { err: cause }
  const { facts, upstreamHost } = cause
  const upstreamMessage = withWords ? getUpstreamMessage(facts) : undefined
  return { err: cause, upstreamHost: upstreamHost ?? undefined, answer: describeAnswer(facts), said: upstreamMessage }
}
