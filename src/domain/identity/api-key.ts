/**
 * Personal API keys: `svc_live_` + 32 base62 characters (190 bits) + 6 base62 characters of CRC-32 over them.
 * The checksum rejects typing errors and scanner noise before any look-up. Only the SHA-256 of a key is stored.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { formatInstant } from '../instant.ts'
import type { Account } from './account.ts'

export interface ApiKey {
  /** `key_` + 26 characters. */
  readonly id: string
  readonly account: string
  readonly name: string
  /** The first characters, enough for the owner to recognise the key. */
  readonly prefix: string
  readonly last4: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** A key as the API and the operator's commands show it. */
export function toKeyFields({ id, name, prefix, last4, createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey) {
  return {
    id,
    name,
    prefix,
    last4,
    created_at: formatInstant(createdAt),
    last_used_at: formatInstant(lastUsedAt),
    expires_at: formatInstant(expiresAt),
    revoked_at: formatInstant(revokedAt),
  }
}

interface NewApiKey extends Omit<ApiKey, 'lastUsedAt' | 'revokedAt'> {
  readonly hash: Uint8Array
}

export interface ApiKeys {
  /** `undefined` if the account already has `limit` live keys: counted and inserted in one step. */
  create(key: NewApiKey, limit: number): Promise<ApiKey | undefined>
  list(account: string): Promise<readonly ApiKey[]>
  find(id: string): Promise<ApiKey | undefined>
  /** Keys that begin so, revoked ones too. */
  listByPrefix(prefix: string, limit: number): Promise<readonly ApiKey[]>
  /** False if the account has no such key. */
  rename(account: string, id: string, name: string): Promise<boolean>
  /** Idempotent; false if the account has no such key. */
  revoke(account: string | undefined, id: string, at: number): Promise<boolean>
  /** The key with its owner, whatever their state; the caller checks both. */
  findByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined>
  /** Records when keys were last used, in batches, because it is written behind. */
  recordLastUsed(lastUsed: ReadonlyMap<string, number>): Promise<void>
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 32
const checksumLength = 6

/** A new key. `random` must be a cryptographic source of the given number of bytes. */
export function mintApiKey(prefix: string, random: (size: number) => Uint8Array): string {
  let body = ''
  while (body.length < randomLength) {
    for (const byte of random(randomLength)) {
      // 248 = 4 × 62: larger bytes would favour the first letters.
      if (byte < 248 && body.length < randomLength) body += alphabet[byte % 62] ?? ''
    }
  }
  return prefix + body + computeChecksum(body)
}

/** Whether the text has the form of one of our keys: prefix, length, alphabet and checksum. Needs no store. */
export function looksLikeApiKey(token: string, prefix: string): boolean {
  if (token.length !== prefix.length + randomLength + checksumLength || !token.startsWith(prefix)) return false
  const body = token.slice(prefix.length, prefix.length + randomLength)
  return token.slice(prefix.length + randomLength) === computeChecksum(body) && /^[0-9A-Za-z]+$/.test(body)
}

/** SHA-256. A fast hash is right for secrets of 190 bits, which cannot be guessed. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The same hash as base64, at a third of the cost of a buffer. */
export function hashTokenToBase64(token: string): string {
  return hash('sha256', token, 'base64')
}

function computeChecksum(body: string): string {
  let value = crc32(body)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = (alphabet[value % 62] ?? '') + text
    value = Math.floor(value / 62)
  }
  return text
}
