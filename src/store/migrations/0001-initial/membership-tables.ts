/** Accounts, sign-in, boosts, audit and images. Both databases have the same tables. */
import type { Dialect } from '../migration.ts'

export const createMembershipTables = ({ whole, bytes, id, serial, tableEnd, clusteredTableEnd }: Dialect): readonly string[] => [
  `create table account (
    id ${id} not null primary key,
    email text unique check (email = lower(email)),
    canonical_email text,
    plan text not null,
    plan_until ${whole},
    status text not null check (status in ('active', 'disabled', 'deleted')),
    password_hash text,
    email_verified ${whole} not null check (email_verified in (0, 1)),
    created_at ${whole} not null,
    constraint account_deleted check (status <> 'deleted' or (email is null and password_hash is null))
  ) ${tableEnd}`,
  'create index account_canonical_email on account (canonical_email)',
  'create index account_plan_until on account (plan_until)',

  `create table api_key (
    id ${id} not null primary key,
    account ${id} not null references account (id),
    name text not null,
    prefix text not null,
    last4 text not null,
    hash ${bytes} not null unique check (length(hash) = 32),
    created_at ${whole} not null,
    last_used_at ${whole},
    expires_at ${whole},
    revoked_at ${whole}
  ) ${tableEnd}`,
  'create index api_key_account on api_key (account)',

  `create table session (
    id ${id} not null primary key,
    account ${id} not null references account (id),
    kind text not null check (kind in ('web', 'cli', 'app')),
    method text not null check (method in ('code', 'password', 'provider', 'device', 'consent')),
    hash ${bytes} not null unique check (length(hash) = 32),
    client text,
    oauth_client ${id},
    address text,
    created_at ${whole} not null,
    last_used_at ${whole} not null,
    expires_at ${whole} not null,
    constraint session_of_client check ((oauth_client is not null) = (kind = 'app'))
  ) ${tableEnd}`,
  'create index session_account on session (account)',
  'create index session_end on session (expires_at)',
  'create index session_oauth_client on session (oauth_client) where oauth_client is not null',

  `create table account_change (
    seq ${serial},
    account ${id} not null
  ) ${tableEnd}`,

  `create table email_verification (
    link_hash ${bytes} not null primary key,
    browser_hash ${bytes} not null,
    email text not null,
    canonical_email text not null,
    network text not null,
    known_device ${whole} not null check (known_device in (0, 1)),
    code_hash ${bytes} not null,
    max_attempts ${whole} not null,
    attempts ${whole} not null,
    password_hash text,
    invite_code text,
    used ${whole} not null check (used in (0, 1)),
    created_at ${whole} not null,
    constraint email_verification_attempts check (attempts between 0 and max_attempts)
  ) ${tableEnd}`,
  'create index email_verification_browser on email_verification (browser_hash, email)',
  'create index email_verification_email on email_verification (canonical_email)',
  'create index email_verification_network on email_verification (network)',
  'create index email_verification_created on email_verification (created_at)',

  `create table identity (
    provider text not null,
    subject text not null,
    account ${id} not null references account (id),
    created_at ${whole} not null,
    constraint identity_key primary key (provider, subject)
  ) ${clusteredTableEnd}`,
  'create index identity_account on identity (account)',

  `create table provider_login (
    state ${bytes} not null primary key,
    provider text not null,
    nonce text not null,
    verifier text not null,
    next text not null,
    invite text,
    expires_at ${whole} not null
  ) ${clusteredTableEnd}`,

  `create table device_login (
    code_hash ${bytes} not null primary key,
    user_code text not null unique,
    client text not null,
    client_version text,
    hostname text,
    address text not null,
    network text not null,
    state text not null check (state in ('pending', 'claimed', 'approved', 'denied', 'redeemed')),
    account ${id} references account (id),
    interval_seconds ${whole} not null,
    polled_at ${whole},
    polled_early ${whole} not null check (polled_early in (0, 1)),
    started_at ${whole} not null,
    expires_at ${whole} not null,
    constraint device_login_account check (state in ('pending', 'denied') or account is not null)
  ) ${tableEnd}`,

  `create table invite_code (
    account ${id} not null primary key references account (id),
    code text not null unique
  ) ${tableEnd}`,

  `create table invite (
    invited ${id} not null primary key references account (id),
    inviter ${id} not null references account (id),
    person ${bytes} not null unique,
    inviter_person ${bytes} not null,
    state text not null check (state in ('pending', 'due', 'payable', 'capped', 'paid')),
    created_at ${whole} not null,
    decided_at ${whole},
    constraint invite_of_another check (invited <> inviter and person <> inviter_person)
  ) ${tableEnd}`,
  'create index invite_inviter on invite (inviter, decided_at)',
  'create index invite_state on invite (state)',

  `create table rush (
    id ${id} not null primary key,
    packs ${whole} not null check (packs > 0),
    pool text not null check (pool in ('fast', 'premium')),
    credits ${whole} not null check (credits > 0),
    pack_ms ${whole} not null check (pack_ms > 0),
    starts_at ${whole} not null,
    ends_at ${whole} not null,
    opened_at ${whole} not null,
    constraint rush_span check (ends_at > starts_at)
  ) ${tableEnd}`,
  'create index rush_end on rush (ends_at)',

  `create table boost_claim (
    id ${id} not null primary key,
    account ${id} not null references account (id),
    kind text not null check (kind in ('checkin', 'invite', 'rush', 'grant')),
    pool text not null check (pool in ('fast', 'premium')),
    credits ${whole} not null check (credits >= 0),
    rush ${id} references rush (id),
    at ${whole} not null,
    expires_at ${whole} not null,
    granted ${whole} not null check (granted in (0, 1))
  ) ${tableEnd}`,
  'create index boost_claim_rush on boost_claim (rush) where rush is not null',
  'create index boost_claim_open on boost_claim (granted, at)',

  `create table attempt (
    id ${serial},
    subject text not null,
    ends_at ${whole} not null
  ) ${tableEnd}`,
  'create index attempt_subject on attempt (subject, ends_at)',
  'create index attempt_end on attempt (ends_at)',

  `create table carried_usage (
    person ${bytes} not null check (length(person) = 32),
    pool text not null check (pool in ('fast', 'premium')),
    "window" text not null check ("window" in ('day', 'week', 'month')),
    starts_at ${whole} not null,
    ends_at ${whole} not null,
    used ${whole} not null check (used > 0),
    constraint carried_usage_key primary key (person, pool, "window", starts_at)
  ) ${clusteredTableEnd}`,
  'create index carried_usage_end on carried_usage (ends_at)',

  `create table usage_alert_subscription (
    account ${id} not null primary key references account (id),
    language text check (language in ('en', 'zh')),
    time_zone text,
    created_at ${whole} not null
  ) ${tableEnd}`,

  // One row for each email that was ever to be sent. A row in 'sending' that no node ends is never sent again.
  `create table usage_alert (
    account ${id} not null references account (id),
    pool text not null check (pool in ('fast', 'premium')),
    "window" text not null check ("window" in ('day', 'week', 'month')),
    ends_at ${whole} not null,
    level ${whole} not null check (level in (80, 100)),
    state text not null check (state in ('due', 'sending', 'sent', 'dropped')),
    attempts ${whole} not null,
    due_at ${whole} not null,
    constraint usage_alert_key primary key (account, pool, "window", ends_at, level)
  ) ${clusteredTableEnd}`,
  `create index usage_alert_due on usage_alert (due_at) where state = 'due'`,
  'create index usage_alert_end on usage_alert (ends_at)',

  `create table audit (
    id ${id} not null primary key,
    account ${id},
    event text not null,
    at ${whole} not null,
    address text,
    request_id text,
    detail text
  ) ${tableEnd}`,
  'create index audit_account on audit (account, id)',
  'create index audit_at on audit (at)',

  `create table oauth_client (
    id ${id} not null primary key,
    metadata text not null,
    created_at ${whole} not null,
    approved_at ${whole}
  ) ${tableEnd}`,
  'create index oauth_client_approved on oauth_client (approved_at, created_at)',

  `create table oauth_record (
    kind text not null,
    hash ${bytes} not null check (length(hash) = 32),
    session ${id},
    payload text not null,
    consumed_at ${whole},
    expires_at ${whole} not null,
    constraint oauth_record_key primary key (kind, hash)
  ) ${clusteredTableEnd}`,
  'create index oauth_record_session on oauth_record (session)',
  'create index oauth_record_end on oauth_record (expires_at)',

  `create table image (
    hash ${id} not null primary key,
    kind text not null check (kind in ('png', 'jpeg', 'webp')),
    bytes ${whole} not null check (bytes > 0),
    created_at ${whole} not null,
    accessed_at ${whole} not null
  ) ${tableEnd}`,
  'create index image_accessed on image (accessed_at)',

  `create table image_owner (
    hash ${id} not null references image (hash),
    account ${id} not null references account (id),
    created_at ${whole} not null,
    constraint image_owner_key primary key (hash, account)
  ) ${clusteredTableEnd}`,
  'create index image_owner_account on image_owner (account)',
  'create index image_owner_created on image_owner (created_at)',
]
