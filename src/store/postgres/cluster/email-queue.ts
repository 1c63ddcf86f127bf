/**
 * Outgoing email in the shared database. Emails are encrypted, so that a copy of the database signs in no one; any node sends
 * them; they are deleted when sent, or when they are of no use any more. A node claims an email for a lease time that it renews while it sends,
 * so the emails of a killed node are sent by another one. Only a node that is killed between sending and recording it causes a
 * second delivery.
 */
import { systemClock } from '../../../system/clock.ts'
import type { Timer } from '../../../system/clock.ts'
import type { QueryResult } from 'pg'
import { EmailEncryption } from '../../../mail/email-encryption.ts'
import { emailPriorities, maxQueued, maxQueuedPerRecipient, noListener } from '../../../mail/email-queue.ts'
import type { Email, EmailQueue, ClaimedEmail, EnqueueResult, QueueListener, WaitingEmails } from '../../../mail/email-queue.ts'
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'
import { isUnreachable } from '../connection/errors.ts'
import type { PostgresLog } from '../postgres-log.ts'

interface SharedEmailQueueOptions {
  readonly connections: Connections
  /** The installation's secret. */
  readonly secret: Buffer
  readonly log?: PostgresLog
}

/** How long a claim lasts without renewal, and how often a node renews its claims and looks for emails that other nodes left. */
const leaseMs = 15_000
const pollIntervalMs = 5_000

interface ClaimedRow {
  readonly id: number
  readonly sealed: Buffer
  readonly attempts: number
  readonly remaining_ms: number
}

const toDatabaseInstant = (parameter: string) => `clock_timestamp() + ${parameter}::bigint * interval '1 ms'`

export class SharedEmailQueue implements EmailQueue {
  readonly pendingCount = 0
  readonly #options: SharedEmailQueueOptions
  readonly #encryption: EmailEncryption
  /** The emails that this node is sending. */
  readonly #leased = new Set<ClaimedEmail>()
  #listener = noListener
  #waiting: WaitingEmails = { count: 0, oldestMs: 0 }
  #timer: Timer | undefined
  #polling: Promise<void> | undefined

  constructor(options: SharedEmailQueueOptions) {
    this.#options = options
    this.#encryption = new EmailEncryption(options.secret)
  }

  get waiting(): WaitingEmails {
    return this.#waiting
  }

  start(listener: QueueListener): void {
    this.#listener = listener
    this.#timer = systemClock.every(pollIntervalMs, () => void this.poll()).unref()
    listener.onDue()
  }

  async enqueue(email: Email): Promise<EnqueueResult> {
    const priority = emailPriorities.indexOf(email.priority)
    const { rows } = await this.#write(
      `with room as (
        select (number - 1)::smallint as priority,
          (select count(*) from outbound_email where priority = number - 1) >= max as is_full
        from unnest($4::bigint[]) with ordinality as bound(max, number)
      ), replaced as (
        delete from outbound_email where id = (
          select id from outbound_email where recipient = $5::bytea and priority >= $3
            and (select count(*) from outbound_email where recipient = $5::bytea) >= $6
            and not (select is_full from room where priority = $3)
          order by priority, id limit 1 for update skip locked)
        returning id
      ), queued as (
        insert into outbound_email (sealed, priority, recipient, expires_at)
        select $1::bytea, priority, $5::bytea, ${toDatabaseInstant('$2')} from room where priority = $3 and not is_full
          and ((select count(*) from outbound_email where recipient = $5::bytea) < $6 or exists (select from replaced))
        returning id
      )
      select (select count(*) from queued)::int as queued, (select count(*) from replaced)::int as replaced,
        array(select priority::int from room where is_full) as full_priorities`,
      [
        this.#encryption.encrypt(email),
        email.usefulMs,
        priority,
        emailPriorities.map((each) => maxQueued[each]),
        email.to === null ? null : this.#encryption.hashRecipient(email.to),
        maxQueuedPerRecipient,
      ],
    )
    const [row] = rows as readonly {
      readonly queued: number
      readonly replaced: number
      readonly full_priorities: readonly number[]
    }[]
    const isQueued = row?.queued === 1
    if (isQueued) this.#listener.onDue()
    return {
      isQueued,
      hasReplaced: row?.replaced === 1,
      full: emailPriorities.filter((_, index) => row?.full_priorities.includes(index)),
    }
  }

  async claim({ memberCodesOnly } = { memberCodesOnly: false }): Promise<ClaimedEmail | undefined> {
    for (;;) {
      const { rows } = await this.#write(
        `update outbound_email set attempts = attempts + 1, due_at = ${toDatabaseInstant('$1')} where id = (
          select id from outbound_email where due_at <= clock_timestamp() and expires_at > clock_timestamp() and priority <= $2
          order by priority, due_at limit 1 for update skip locked)
        returning id, sealed, attempts, greatest(0, extract(epoch from expires_at - clock_timestamp()) * 1000)::bigint as remaining_ms`,
        [leaseMs, memberCodesOnly ? 0 : emailPriorities.length],
      )
      const [row] = rows as readonly ClaimedRow[]
      if (row === undefined) return undefined
      const email = this.#encryption.decrypt(row.sealed) as Email | undefined
      if (email !== undefined) {
        const claimedEmail = { id: row.id, email, attempt: row.attempts, remainingMs: row.remaining_ms }
        this.#leased.add(claimedEmail)
        return claimedEmail
      }
      await this.#remove(row.id)
      this.#options.log?.warn({}, 'an email in the database could not be decrypted and was deleted')
    }
  }

  async complete(leased: ClaimedEmail): Promise<void> {
    this.#leased.delete(leased)
    await this.#remove(leased.id)
  }

  async retryLater(leased: ClaimedEmail, afterMs: number): Promise<boolean> {
    this.#leased.delete(leased)
    // The number of attempts shows whether the claim is still this node's.
    await this.#write(`update outbound_email set due_at = ${toDatabaseInstant('$1')} where id = $2 and attempts = $3`, [
      afterMs,
      leased.id,
      leased.attempt,
    ])
    return true
  }

  /** Renews this node's claims, deletes expired emails and reports due ones. Errors are left to the next poll. */
  poll(): Promise<void> {
    this.#polling ??= this.#pollDatabase()
      .catch((error: unknown) => this.#options.log?.warn({ err: error }, 'the database could not be polled for emails to send'))
      .finally(() => (this.#polling = undefined))
    return this.#polling
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#listener = noListener
    await this.#polling
  }

  async #pollDatabase(): Promise<void> {
    if (this.#leased.size > 0) {
      const leasedEmails = [...this.#leased]
      await this.#write(
        `update outbound_email set due_at = ${toDatabaseInstant('$1')} from unnest($2::bigint[], $3::bigint[]) as mine(id, attempts)
        where outbound_email.id = mine.id and outbound_email.attempts = mine.attempts`,
        [leaseMs, leasedEmails.map(({ id }) => id), leasedEmails.map(({ attempt }) => attempt)],
      )
    }
    // Of several nodes one deletes an email, so that it is counted once.
    const { rowCount } = await this.#write('delete from outbound_email where expires_at <= clock_timestamp()', [])
    if (rowCount !== null && rowCount > 0) this.#listener.onExpired(rowCount)
    const { rows } = await this.#options.connections.read(
      `select count(*) as count, coalesce(extract(epoch from clock_timestamp() - min(queued_at)) * 1000, 0)::bigint as oldest_ms
      from outbound_email`,
      [],
    )
    this.#waiting = { count: rows[0].count, oldestMs: rows[0].oldest_ms }
    this.#listener.onDue()
  }

  async #remove(id: number): Promise<void> {
    await this.#write('delete from outbound_email where id = $1', [id])
  }

  /**
   * Repeats the statement if the result was lost: a second copy of an email is better than none, and the other statements are
   * idempotent.
   */
  async #write(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const { connections } = this.#options
    try {
      return await connections.write(readCommitted, text, values)
    } catch (error) {
      if (!isUnreachable(error)) throw error
      return connections.write(readCommitted, text, values)
    }
  }
}
