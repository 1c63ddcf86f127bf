/** A personal API key as its row has it, without the hash. */
import type { ApiKey } from '../membership/api-key.ts'

export const keyColumns = [
  'api_key.id',
  'api_key.account',
  'api_key.name',
  'api_key.prefix',
  'api_key.last4',
  'api_key.created_at',
  'api_key.last_used_at',
  'api_key.expires_at',
  'api_key.revoked_at',
] as const

export interface KeyRow {
  readonly id: string
  readonly account: string
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly expires_at: number | null
  readonly revoked_at: number | null
}

export function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
