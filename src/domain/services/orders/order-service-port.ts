/** What pages, endpoints, commands and jobs use of orders. `OrderService` implements it; where nothing is sold there is none. */
import type { Money } from '../../billing/money.ts'
import type { Order, OrderActor, OrderFilter, OrderStep } from '../../billing/orders/order.ts'
import type { NotificationAnswer, RawNotification } from '../../billing/orders/payment-provider.ts'
import type { Account } from '../../identity/account.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import type {
  Offer,
  OrderAnswer,
  OrderExplanation,
  OrderRequest,
  QuoteAnswer,
  RefundAnswer,
  RefundQuote,
  RefundRequest,
} from './order-answers.ts'

export interface OrderServicePort {
  /** Everything that an account can buy, and what it would do; items without a price are left out. */
  listOffers(account: Account): Promise<readonly Offer[]>
  /** What an order would do and cost; changes nothing. */
  quote(account: Account, request: OrderRequest): Promise<QuoteAnswer>
  /**
   * Stores an order and opens its payment. A repeated request is the same order. Where the provider gives no answer, the order is there in
   * state `created`, and is opened later.
   */
  create(account: Account, request: OrderRequest, client: ClientInfo): Promise<OrderAnswer>
  /** Newest first. */
  list(filter: OrderFilter): Promise<readonly Order[]>
  /** By id or number. Undefined where there is none, or where it is not of this account; null: of any. */
  find(account: string | null, idOrNumber: string): Promise<Order | undefined>
  listSteps(order: string): Promise<readonly OrderStep[]>
  /** Asks the provider, and grants what was paid. A provider that fails becomes a row of the story. Undefined where there is no such order. */
  check(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined>
  /** Cancels what is not paid. Returns the order as it is then, which may have been paid meanwhile. */
  cancel(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined>
  /** The buyer's name and address on the receipt, in lines. */
  setBuyer(id: string, buyer: readonly string[]): Promise<Order | undefined>
  /** Records money that the operator has received, all of it so far. Where it is enough, grants the order. */
  confirm(id: string, received: Money, reference?: string, author?: OperatorAuthor): Promise<Order | undefined>
  /** Undefined where there is no such order, or where nothing was paid for it. */
  quoteRefund(id: string): Promise<RefundQuote | undefined>
  /** Where a provider gives no answer, the refund is `started`, and the provider is asked until its answer is final. */
  refund(id: string, request: RefundRequest, author: OperatorAuthor): Promise<RefundAnswer>
  /** Takes a notification of a provider. Throws only where there is no such provider. */
  receive(provider: string, notification: RawNotification): Promise<NotificationAnswer>
  /** Lets the running plan end with what is paid. */
  cancelRenewal(account: string): Promise<'cancelled' | 'no_renewal' | 'unavailable'>
  /** The provider's page for cards and invoices; null where there is none. @throws PaymentProviderError */
  openPortal(account: string, returnUrl: string): Promise<string | null>
  /**
   * Before an account is deleted: ends its renewals at the provider and cancels what is not paid. False where the provider gives no answer;
   * the deletion has to wait then.
   */
  prepareDeletion(account: string): Promise<boolean>
  /** What is missing and what cures it; undefined where there is no such order. */
  explain(id: string): Promise<OrderExplanation | undefined>
  /** Asks about the orders that are due. For one node at a time. */
  sweep(signal?: AbortSignal): Promise<void>
}
