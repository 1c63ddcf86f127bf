/** What nodes that share a database have in it besides: who is alive, who does the chores, and what else must not lie on one of them. */
import type { Generated } from 'kysely'
import type { PurseTable, Schema } from '../schema.ts'

/** Instants here are the database's clock's, the only one that all nodes have. */
export const clusterTables = `
create table process (
  id bigint generated always as identity primary key,
  name text not null unique,
  version text not null,
  alive_until timestamptz not null
);

create table chore (
  name text primary key,
  holder bigint not null,
  until timestamptz not null
);

create table installation (
  one boolean primary key default true check (one),
  secret bytea check (length(secret) = 32),
  proof bytea not null,
  made_at timestamptz not null default clock_timestamp()
);

create table image_data (
  hash text collate "C" primary key references image (hash) on delete cascade,
  data bytea not null
);
alter table image_data alter column data set storage external;

create table letter (
  id bigint generated always as identity primary key,
  sealed bytea not null,
  tries bigint not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index letter_due on letter (due_at);

-- Limits of a minute: a server that crashes may forget them.
create unlogged table limit_time (
  subject text collate "C" primary key,
  units bigint not null,
  at bigint not null,
  per_minute bigint not null,
  granted bigint not null
) with (fillfactor = 50);
`

export interface ClusterSchema extends Omit<Schema, 'process' | 'account_change'> {
  readonly purse: SharedPurseTable
  readonly process: NodeTable
  readonly account_change: Schema['account_change'] & { at: Generated<Date> }
  readonly chore: ChoreTable
  readonly installation: InstallationTable
  readonly image_data: ImageDataTable
  readonly letter: LetterTable
  readonly limit_time: LimitTimeTable
}

/** An account's purse, always as it is now. */
export type SharedPurseTable = Omit<PurseTable, 'last_turn'> & {
  /** One more with each write: what a node remembers of a purse holds for as long as this is the same. */
  version: number
  /** Its open holds. */
  running: number
  /** How many packs it was ever granted. */
  packs: number
}

/** A node, alive for as long as it says so in time. */
export interface NodeTable {
  id: Generated<number>
  /** New for every start. */
  name: string
  version: string
  alive_until: Date
}

/** Who does a chore, until when. */
export interface ChoreTable {
  name: string
  holder: number
  until: Date
}

/** One row: what all nodes have in common. */
export interface InstallationTable {
  one: Generated<boolean>
  /** Null where it is kept out of the database. */
  secret: Uint8Array | null
  /** By which a node with another secret is found out. */
  proof: Uint8Array
  made_at: Generated<Date>
}

export interface ImageDataTable {
  hash: string
  data: Uint8Array
}

/** A letter on its way, sealed with a key that follows from the secret. */
export interface LetterTable {
  id: Generated<number>
  sealed: Uint8Array
  tries: Generated<number>
  due_at: Generated<Date>
  expires_at: Date
}

/** What a subject has used and not had back, as of an instant in milliseconds; by which limit, and how many requests, it was last asked for. */
export interface LimitTimeTable {
  subject: string
  units: number
  at: number
  per_minute: number
  granted: number
}
