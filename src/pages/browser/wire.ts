/** What the endpoints that this site's pages ask answer. */

export interface Envelope {
  readonly ok: false
  readonly code: string
  readonly stage: string
  readonly message: string
  readonly messageZh: string
  readonly requestId: string
  readonly actions?: readonly string[]
  readonly debug?: { readonly upstreamStatus?: number }
}

type Tier = 'fast' | 'premium'

export interface Pool {
  readonly tier: Tier
  readonly window: 'day' | 'week' | 'month'
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly remaining: number
  readonly resets_at: string
}

export interface Pack {
  readonly kind: 'checkin' | 'invite' | 'rush' | 'grant'
  readonly tier: Tier
  readonly granted: number
  readonly remaining: number
  readonly expires_at: string
}

export interface Turn {
  readonly request_id: string
  readonly model: string
  readonly state: 'held' | 'settled' | 'refunded' | 'expired'
  readonly credits: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly estimated: boolean
  readonly code: string | null
  readonly started_at: string
}

export interface UsedDay {
  readonly day: string
  readonly fast: number
  readonly premium: number
}

export interface Usage {
  readonly pools: readonly Pool[]
  readonly turns: readonly Turn[]
  readonly days: readonly UsedDay[]
}

export interface Boost {
  readonly balance: number
  readonly checkin: { readonly available: boolean; readonly credits: number; readonly next_at: string }
  readonly invite: { readonly url: string; readonly credited: number; readonly limit: number; readonly credits: number }
  readonly rush: {
    readonly active: boolean
    readonly starts_at: string | null
    readonly ends_at: string | null
    readonly remaining: number
    readonly taken: boolean
  }
  readonly packs: readonly Pack[]
}

export interface Key {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly created_at: string
  readonly last_used_at: string | null
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

export interface Session {
  readonly id: string
  readonly kind: 'web' | 'cli' | 'app'
  readonly client: string | null
  readonly address: string | null
  readonly created_at: string
  readonly last_used_at: string
  readonly current: boolean
}

export interface AuditEntry {
  readonly event: string
  readonly at: string
  readonly address: string | null
  readonly request_id: string | null
}

export interface AskingDevice {
  readonly user_code: string
  readonly client: string
  readonly client_version: string | null
  readonly hostname: string | null
  readonly address: string | null
  readonly same_network: boolean
  readonly started_at: string
  readonly expires_in: number
}

export interface ConnectRequest {
  readonly app: { readonly name: string; readonly address: string | null }
  readonly redirect: { readonly place: string; readonly local: boolean }
  readonly account: string
  readonly expires_in: number
}

export interface ConnectDecided {
  readonly location: string
}

interface Done {
  readonly ok: true
}

interface Sent extends Done {
  readonly resend_after: number
}

interface List<Item> {
  readonly data: readonly Item[]
}

/** By method and path below `/api/membership/`. */
export interface Answers {
  readonly 'GET usage': Usage
  readonly 'GET boost': Boost
  readonly 'POST boost': { readonly pack: Pack; readonly boost: Boost }
  readonly 'GET audit': List<AuditEntry>
  readonly 'GET auth/sessions': List<Session>
  readonly 'DELETE auth/sessions': Done
  readonly 'GET auth/api-keys': List<Key>
  readonly 'POST auth/api-keys': Key & { readonly token: string }
  readonly 'DELETE auth/api-keys': Done
  readonly 'POST auth/otp/start': Sent
  readonly 'POST auth/otp/verify': Done
  readonly 'POST auth/sign-up': Sent
  readonly 'POST auth/sign-in': Done
  readonly 'POST auth/sign-out': Done
  readonly 'POST auth/proof/start': Sent
  readonly 'POST auth/password': Done
  readonly 'POST auth/delete-account': Done
  readonly 'POST auth/link/look': { readonly email_masked: string }
  readonly 'POST auth/link/verify': Done
  readonly 'POST auth/device/lookup': { readonly device: AskingDevice }
  readonly 'POST auth/device/approve': Done
  readonly 'POST auth/device/deny': Done
}

export interface TokenUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

export interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string | null }; readonly finish_reason: string | null }[]
  readonly usage?: TokenUsage
}

export interface CompletionChunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: TokenUsage | null
}

export interface SearchDocument {
  readonly schema: string
  readonly answer?: string | null
  readonly results: readonly {
    readonly index?: number
    readonly title: string
    readonly url: string
    readonly snippet?: string | null
  }[]
}
