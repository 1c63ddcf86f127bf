/**
 * How a turn ends, in the port's words: so it stands in the journal too, by name, because the version that reads it may be a later one.
 * What a later version adds to an order is missing there in an earlier one's, and `toOp` has to know what it then is.
 */
import type { Ending, RefundOrder, SettleOrder } from '../../membership/ledger.ts'
import { nothingUsed, reportedColumns, valuesOf } from '../turn-columns.ts'
import type { EndingOp } from './operations.ts'

export type EndingOrder = ({ readonly kind: 'settle' } & SettleOrder) | ({ readonly kind: 'refund' } & RefundOrder)

/** The order as a store is given it. */
export function toOp(order: EndingOrder): EndingOp {
  const { kind, hold, at, target, upstreamStatus } = order
  const known = { ended_at: at, target, upstream_status: upstreamStatus }
  if (kind === 'refund') return [kind, hold, ...valuesOf(reportedColumns, { ...nothingUsed, ...known, code: order.code })]
  const reported = valuesOf(reportedColumns, {
    ...known,
    credits: order.credits,
    input_tokens: order.tokens.input,
    output_tokens: order.tokens.output,
    estimated: order.estimated ? 1 : 0,
    code: order.outcome === 'aborted' ? 'aborted' : null,
  })
  const { contradicted = null } = order
  return [kind, hold, contradicted === null ? null : [contradicted.input, contradicted.output], ...reported]
}

/** What it will have become once the ledger has it. How much of it is debt only the ledger can tell. */
export function asOrdered(order: EndingOrder): Ending {
  if (order.kind === 'refund') return { done: true, state: 'refunded', credits: 0, debt: 0 }
  return { done: true, state: 'settled', credits: order.credits, debt: 0 }
}
