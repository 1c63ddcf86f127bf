/**
 * The ledger's tables on PostgreSQL. A purse is written with each batch, because several nodes share it, so its row is the purse, and there is
 * no mark from which on it may be behind. The promises of SQLite's tables hold here too, but for purses and turns not by checks of the tables:
 * PostgreSQL reads those anew for every statement, which takes a fifth of a small batch. The book and its page keep them, who alone write.
 */
import { pools } from '../purse.ts'
import { windows } from '../../membership/plan.ts'
import { bucketFields } from '../schema.ts'

const cells = pools.flatMap((pool) => windows.map((window) => `${pool}_${window}`))

/** Half of each page is left for the next versions of its rows: nothing that is indexed changes, so they stay on their page. */
const purse = `
create table purse (
  account text collate "C" primary key references account (id),
  version bigint not null default 0,
  running bigint not null default 0,
  packs bigint not null default 0,
  seq bigint not null,
  hash bytea not null,
  ${cells.flatMap((cell) => bucketFields.map((field) => `${cell}_${field} bigint not null default 0`)).join(',\n  ')}
) with (fillfactor = 50);
`

export const ledgerTables = `
${purse}
create table bucket (
  account text collate "C" not null references account (id),
  id bigint not null,
  pool text not null check (pool in ('fast', 'premium')),
  "window" text not null check ("window" in ('day', 'week', 'month')),
  starts_at bigint not null,
  ends_at bigint not null,
  granted bigint not null check (granted >= 0),
  reserved bigint not null check (reserved >= 0),
  settled bigint not null check (settled >= 0),
  debt bigint not null check (debt >= 0),
  constraint bucket_key primary key (account, id),
  constraint bucket_once unique (account, pool, "window", starts_at),
  constraint bucket_period check (ends_at > starts_at),
  constraint bucket_not_overdrawn check (debt <= settled and reserved + settled - debt <= granted)
);

create table pack (
  id text collate "C" primary key,
  account text collate "C" not null references account (id),
  kind text not null check (kind in ('checkin', 'invite', 'rush', 'grant')),
  pool text not null check (pool in ('fast', 'premium')),
  granted bigint not null check (granted >= 0),
  reserved bigint not null check (reserved >= 0),
  settled bigint not null check (settled >= 0),
  expires_at bigint not null,
  created_at bigint not null,
  constraint pack_not_overdrawn check (reserved + settled <= granted)
);
create index pack_unspent on pack (account, pool, expires_at, id) where settled < granted;
create index pack_account on pack (account);

-- Nodes take ids in blocks of so many: the first of each is what the sequence gives.
create sequence turn_block increment by 4096 minvalue 1;

create table turn (
  id bigint not null,
  request_id text not null,
  account text collate "C" not null,
  model text not null,
  pool text not null,
  state text not null,
  owner bigint not null,
  until bigint not null,
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
  price_output bigint not null,
  discount_percent bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  estimated bigint not null,
  contradicted_input bigint,
  contradicted_output bigint,
  code text,
  upstream_status bigint,
  target text,
  idempotency_key text,
  body_hash text,
  seq bigint not null default 0,
  hash bytea not null default '',
  constraint turn_key primary key (account, id)
) with (fillfactor = 70);
-- The newest of all accounts, and the oldest, which are forgotten.
create index turn_order on turn (id);
create index turn_held on turn (owner, until) where state = 'held';
create unique index turn_idempotency on turn (account, idempotency_key)
  where idempotency_key is not null and state in ('held', 'settled');

create table entry (
  account text collate "C" not null,
  seq bigint not null check (seq > 0),
  kind text not null,
  at bigint not null,
  detail text not null,
  hash bytea not null,
  constraint entry_key primary key (account, seq)
);
create index entry_at on entry (at);

create table checkpoint (
  account text collate "C" primary key,
  seq bigint not null,
  hash bytea not null,
  balances text not null,
  seal bytea not null
);

create table roster (
  number bigint primary key,
  account text collate "C" not null unique,
  hash bytea not null
);

create table roster_end (
  number bigint not null,
  hash bytea not null
);
insert into roster_end (number, hash) values (0, decode(repeat('00', 16), 'hex'));
`
