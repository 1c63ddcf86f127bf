/** Accounts, sign-in, boosts and images on PostgreSQL, as SQLite's steps up to 0012 have made them there. */

/** Ids are compared byte by byte, whatever language the database was made for. */
export const membershipTables = `
create table account (
  id text collate "C" primary key,
  email text unique check (email = lower(email)),
  mailbox text,
  plan text not null,
  plan_until bigint,
  status text not null check (status in ('active', 'disabled', 'deleted')),
  password_hash text,
  email_verified bigint not null check (email_verified in (0, 1)),
  created_at bigint not null,
  constraint forgotten check (status <> 'deleted' or (email is null and password_hash is null))
);
create index account_mailbox on account (mailbox);
create index account_plan_until on account (plan_until);

create table api_key (
  id text collate "C" primary key,
  account text collate "C" not null references account (id),
  name text not null,
  prefix text not null,
  last4 text not null,
  hash bytea not null unique check (length(hash) = 32),
  created_at bigint not null,
  last_used_at bigint,
  expires_at bigint,
  revoked_at bigint
);
create index api_key_account on api_key (account);

create table session (
  id text collate "C" primary key,
  account text collate "C" not null references account (id),
  kind text not null check (kind in ('web', 'cli')),
  method text not null check (method in ('code', 'password', 'provider', 'device')),
  hash bytea not null unique check (length(hash) = 32),
  client text,
  app text collate "C",
  address text,
  created_at bigint not null,
  last_used_at bigint not null,
  expires_at bigint not null
);
create index session_account on session (account);
create index session_end on session (expires_at);

create table account_change (
  seq bigint generated always as identity primary key,
  account text collate "C" not null,
  at timestamptz not null default clock_timestamp()
);
create index account_change_at on account_change (at);

create table mail_code (
  link bytea primary key,
  browser bytea not null,
  address text not null,
  mailbox text not null,
  network text not null,
  known bigint not null check (known in (0, 1)),
  code_hash bytea not null,
  tries bigint not null,
  attempts bigint not null,
  password_hash text,
  invite text,
  used bigint not null check (used in (0, 1)),
  created_at bigint not null,
  constraint mail_code_tries check (attempts between 0 and tries)
);
create index mail_code_browser on mail_code (browser, address);
create index mail_code_mailbox on mail_code (mailbox);
create index mail_code_network on mail_code (network);
create index mail_code_created on mail_code (created_at);

create table identity (
  provider text not null,
  subject text not null,
  account text collate "C" not null references account (id),
  created_at bigint not null,
  constraint identity_of primary key (provider, subject)
);
create index identity_account on identity (account);

create table provider_login (
  state bytea primary key,
  provider text not null,
  nonce text not null,
  verifier text not null,
  next text not null,
  invite text,
  expires_at bigint not null
);

create table device_login (
  code_hash bytea primary key,
  user_code text not null unique,
  client text not null,
  client_version text,
  hostname text,
  address text not null,
  network text not null,
  state text not null check (state in ('pending', 'claimed', 'approved', 'denied', 'redeemed')),
  account text collate "C" references account (id),
  interval_seconds bigint not null,
  polled_at bigint,
  hurried bigint not null,
  started_at bigint not null,
  expires_at bigint not null,
  constraint device_owner check (state in ('pending', 'denied') or account is not null)
);

create table invite_code (
  account text collate "C" primary key references account (id),
  code text not null unique
);

create table invite (
  invited text collate "C" primary key references account (id),
  inviter text collate "C" not null references account (id),
  person bytea not null unique,
  inviter_person bytea not null,
  state text not null check (state in ('pending', 'due', 'payable', 'capped', 'paid')),
  created_at bigint not null,
  decided_at bigint,
  constraint not_oneself check (invited <> inviter and person <> inviter_person)
);
create index invite_inviter on invite (inviter, decided_at);
create index invite_state on invite (state);

create table rush (
  id text collate "C" primary key,
  packs bigint not null check (packs > 0),
  pool text not null check (pool in ('fast', 'premium')),
  credits bigint not null check (credits > 0),
  pack_ms bigint not null check (pack_ms > 0),
  starts_at bigint not null,
  ends_at bigint not null,
  opened_at bigint not null,
  constraint rush_span check (ends_at > starts_at)
);
create index rush_end on rush (ends_at);

create table boost_claim (
  id text collate "C" primary key,
  account text collate "C" not null references account (id),
  kind text not null check (kind in ('checkin', 'invite', 'rush', 'grant')),
  pool text not null check (pool in ('fast', 'premium')),
  credits bigint not null check (credits >= 0),
  rush text collate "C" references rush (id),
  at bigint not null,
  expires_at bigint not null,
  granted bigint not null check (granted in (0, 1))
);
create index boost_claim_rush on boost_claim (rush) where rush is not null;
create index boost_claim_open on boost_claim (granted, at);

create table attempt (
  id bigint generated always as identity primary key,
  subject text not null,
  ends_at bigint not null
);
create index attempt_subject on attempt (subject, ends_at);
create index attempt_end on attempt (ends_at);

create table person_use (
  person bytea not null check (length(person) = 32),
  pool text not null check (pool in ('fast', 'premium')),
  "window" text not null check ("window" in ('day', 'week', 'month')),
  starts_at bigint not null,
  ends_at bigint not null,
  used bigint not null check (used > 0),
  constraint person_use_key primary key (person, pool, "window", starts_at)
);
create index person_use_end on person_use (ends_at);

create table audit (
  id text collate "C" primary key,
  account text collate "C",
  event text not null,
  at bigint not null,
  address text,
  request_id text,
  detail text
);
create index audit_account on audit (account, id);
create index audit_at on audit (at);

create table app (
  id text collate "C" primary key,
  metadata text not null,
  created_at bigint not null,
  used_at bigint
);
create index app_use on app (used_at, created_at);

create table app_record (
  kind text not null,
  hash bytea not null check (length(hash) = 32),
  session text collate "C",
  payload text not null,
  consumed_at bigint,
  expires_at bigint not null,
  constraint app_record_key primary key (kind, hash)
);
create index app_record_session on app_record (session);
create index app_record_end on app_record (expires_at);

create table image (
  hash text collate "C" primary key,
  kind text not null check (kind in ('png', 'jpeg', 'webp')),
  bytes bigint not null check (bytes > 0),
  created_at bigint not null,
  accessed_at bigint not null
);
create index image_accessed on image (accessed_at);

create table image_owner (
  hash text collate "C" not null references image (hash),
  account text collate "C" not null references account (id),
  created_at bigint not null,
  constraint image_owner_key primary key (hash, account)
);
create index image_owner_account on image_owner (account);
create index image_owner_created on image_owner (created_at);
`
