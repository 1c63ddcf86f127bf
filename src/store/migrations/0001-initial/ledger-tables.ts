/**
 * The ledger's tables that both databases share; `balance` and `turn` differ. The CHECK constraints are the last defence behind the code:
 * no bucket can ever give away more than it was granted.
 */
import type { Dialect } from '../migration.ts'

export const createLedgerTables = ({ whole, bytes, id, zeroHash, tableEnd, clusteredTableEnd }: Dialect): readonly string[] => [
  `create table bucket (
    account ${id} not null references account (id),
    id ${whole} not null,
    pool text not null check (pool in ('fast', 'premium')),
    "window" text not null check ("window" in ('day', 'week', 'month')),
    starts_at ${whole} not null,
    ends_at ${whole} not null,
    granted ${whole} not null check (granted >= 0),
    reserved ${whole} not null check (reserved >= 0),
    settled ${whole} not null check (settled >= 0),
    debt ${whole} not null check (debt >= 0),
    constraint bucket_key primary key (account, id),
    constraint bucket_once unique (account, pool, "window", starts_at),
    constraint bucket_period check (ends_at > starts_at),
    constraint bucket_not_overdrawn check (debt <= settled and reserved + settled - debt <= granted)
  ) ${clusteredTableEnd}`,

  `create table pack (
    id ${id} not null primary key,
    account ${id} not null references account (id),
    kind text not null check (kind in ('checkin', 'invite', 'rush', 'grant')),
    pool text not null check (pool in ('fast', 'premium')),
    granted ${whole} not null check (granted >= 0),
    reserved ${whole} not null check (reserved >= 0),
    settled ${whole} not null check (settled >= 0),
    expires_at ${whole} not null,
    created_at ${whole} not null,
    constraint pack_not_overdrawn check (reserved + settled <= granted)
  ) ${tableEnd}`,
  'create index pack_unspent on pack (account, pool, expires_at, id) where settled < granted',
  // Verification reads an account's packs whether or not they are spent.
  'create index pack_account on pack (account)',

  `create table entry (
    account ${id} not null,
    seq ${whole} not null check (seq > 0),
    kind text not null,
    at ${whole} not null,
    detail text not null,
    hash ${bytes} not null,
    constraint entry_key primary key (account, seq)
  ) ${clusteredTableEnd}`,
  'create index entry_at on entry (at)',

  // Written with the ending of each turn, so that a member's usage is read without the turns. Only read by account and time.
  `create table usage_sum (
    account ${id} not null,
    starts_at ${whole} not null,
    pool text not null,
    model text not null,
    credential text not null,
    api_format text not null,
    turns ${whole} not null,
    failed ${whole} not null,
    credits ${whole} not null,
    input_tokens ${whole} not null,
    cached_input_tokens ${whole} not null,
    output_tokens ${whole} not null,
    constraint usage_sum_key primary key (account, starts_at, pool, model, credential, api_format)
  ) ${clusteredTableEnd}`,

  `create table checkpoint (
    account ${id} not null primary key,
    seq ${whole} not null,
    hash ${bytes} not null,
    balances text not null,
    seal ${bytes} not null
  ) ${clusteredTableEnd}`,

  `create table ledger_account (
    number ${whole} not null primary key,
    account ${id} not null unique,
    hash ${bytes} not null
  ) ${tableEnd}`,

  `create table ledger_account_head (
    number ${whole} not null,
    hash ${bytes} not null
  ) ${tableEnd}`,
  `insert into ledger_account_head (number, hash) values (0, ${zeroHash})`,
]
