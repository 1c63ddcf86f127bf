/**
 * The tables that only PostgreSQL has in this form: the ledger's `balance` and `turn`, and those that coordinate nodes.
 *
 * Each batch writes the balances it touches, because nodes share them, so there is no watermark. `balance` and `turn` have no CHECK
 * constraints: PostgreSQL parses them anew for every statement, a fifth of a small batch. The ledger engine and the batch's statements, the
 * only writers, keep the same promises.
 */
import { windows } from '../../../domain/billing/catalog/plan.ts'
import { pools } from '../../ledger/account-balance.ts'
import { bucketFields } from '../../schema/schema.ts'

const buckets = pools.flatMap((pool) => windows.map((window) => `${pool}_${window}`))

export const postgresTables: readonly string[] = [
  // Half of each page is left free for new versions of its rows: no indexed column changes, so they stay on their page.
  `create table balance (
    account text collate "C" primary key references account (id),
    version bigint not null default 0,
    open_holds bigint not null default 0,
    pack_count bigint not null default 0,
    seq bigint not null,
    hash bytea not null,
    ${buckets.flatMap((bucket) => bucketFields.map((field) => `${bucket}_${field} bigint not null default 0`)).join(', ')}
  ) with (fillfactor = 50)`,

  // Nodes take turn ids in blocks of 4096; the sequence gives the first id of each block.
  'create sequence turn_block increment by 4096 minvalue 1',

  `create table turn (
    id bigint not null,
    request_id text not null,
    account text collate "C" not null,
    model text not null,
    api_format text not null,
    requested_model text,
    credential text not null,
    pool text not null,
    state text not null,
    owner_process bigint not null,
    lease_until bigint not null,
    started_at bigint not null,
    ended_at bigint,
    reserved bigint not null,
    reserved_plan bigint not null,
    reserved_packs text,
    day_bucket bigint not null,
    week_bucket bigint not null,
    month_bucket bigint not null,
    credits bigint not null,
    debt bigint not null,
    window_debts text,
    settled_packs text,
    price_input bigint not null,
    price_cached_input bigint,
    price_output bigint not null,
    discount_percent bigint not null,
    input_tokens bigint not null,
    cached_input_tokens bigint not null,
    output_tokens bigint not null,
    estimated bigint not null,
    disputed_input bigint,
    disputed_output bigint,
    code text,
    upstream_status bigint,
    target text,
    idempotency_key text,
    body_hash text,
    seq bigint not null default 0,
    hash bytea not null default '',
    constraint turn_key primary key (account, id)
  ) with (fillfactor = 70)`,
  // For the newest turns of all accounts, and for pruning the oldest.
  'create index turn_order on turn (id)',
  `create index turn_held on turn (owner_process, lease_until) where state = 'held'`,
  `create unique index turn_idempotency on turn (account, idempotency_key)
    where idempotency_key is not null and state in ('held', 'settled')`,

  // Instants of type timestamptz are read from the database's clock, the only one that all nodes share.
  `alter table account_change add column at timestamptz not null default clock_timestamp()`,
  'create index account_change_at on account_change (at)',

  `create table process (
    id bigint generated always as identity primary key,
    name text not null unique,
    version text not null,
    config text not null default '{}',
    jobs_without_connection text[] not null default '{}',
    alive_until timestamptz not null
  )`,

  `create table job_lease (
    name text primary key,
    holder bigint not null,
    lease_until timestamptz not null
  )`,

  `create table installation (
    singleton boolean primary key default true check (singleton),
    secret bytea check (length(secret) = 32),
    secret_proof bytea not null,
    created_at timestamptz not null default clock_timestamp()
  )`,

  `create table image_data (
    hash text collate "C" primary key references image (hash) on delete cascade,
    data bytea not null
  )`,
  'alter table image_data alter column data set storage external',

  `create table outbound_email (
    id bigint generated always as identity primary key,
    sealed bytea not null,
    priority smallint not null,
    attempts bigint not null default 0,
    due_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
  )`,
  'create index outbound_email_due on outbound_email (priority, due_at)',

  // Limits per minute: a database server that crashes may lose them.
  `create unlogged table limit_time (
    subject text collate "C" primary key,
    units bigint not null,
    at bigint not null,
    per_minute bigint not null,
    granted bigint not null
  ) with (fillfactor = 50)`,
]
