/** The schema of an upstream in `gateway.config.ts`. */
import { z } from 'zod'
import { millisecondsSchema, secretSchema, urlSchema } from './value-schemas.ts'

export const upstreamSchema = z.strictObject({
  /**
   * Base URL of its API without the path of an endpoint, as in `https://api.example.com/v1`, `https://api.anthropic.com/v1` or
   * `https://generativelanguage.googleapis.com/v1beta`; `'demo'` is the built-in demo upstream.
   */
  baseUrl: z.union([z.literal('demo'), urlSchema]),
  /** Sent as Bearer, as `x-api-key` to Anthropic's API, or as `x-goog-api-key` to Gemini's; null for an upstream without authentication. */
  apiKey: secretSchema.nullable().default(null),
  /** Additional headers of each request to it. */
  headers: z.record(z.string(), z.string()).default({}),
  /** The field for the cap on the output. */
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** Some upstreams reject the role `developer`; it is replaced by this role. */
  developerRole: z.enum(['developer', 'system']).default('system'),
  /** Forwards `service_tier` and `store`. They change what the operator pays. */
  passCostFields: z.boolean().default(false),
  /**
   * Its API. `'openai'`: chat completions, and only OpenAI's own request fields are forwarded. `'compatible'`: also the usual fields of
   * compatible servers. `'anthropic'`: the Messages API, for products with chat. `'gemini'`: Google's `generateContent`. Requests and answers
   * of these two are translated.
   */
  kind: z.enum(['openai', 'compatible', 'anthropic', 'gemini']).default('compatible'),
  /** Whether chats are sent to its Responses API instead of chat completions; requests and answers are translated. */
  responses: z.boolean().default(false),
  /**
   * Additional request fields to forward (`src/exchange/request/field-policy.ts` lists the usual ones). Danger: some of them choose other
   * models or buy extras.
   */
  passRequestFields: z.array(z.string().min(1)).default([]),
  /**
   * Whether responses are requested as streams even if the member requests none, so that output is visible while it is produced, and the
   * call can be aborted when the member disconnects. `'auto'`: streams are requested, and the observed behaviour decides what a disconnect
   * costs. `true`: it is known to stream. `false`: it is asked as the member asked, because its whole responses are better than its
   * streams; members who request none and disconnect pay for the whole response. Several choices are always requested as the member asked.
   */
  streams: z.union([z.boolean(), z.literal('auto')]).default('auto'),
  /** Additional response fields that members may see (`src/codecs/chat/response-filter.ts` lists the usual ones). */
  passResponseFields: z.array(z.string().min(1)).default([]),
  /** Allows plain HTTP to a public address, which sends keys and prompts in the clear. */
  allowPlaintext: z.boolean().default(false),
  /**
   * Addresses in messages, of pictures, video, sound or files, which the upstream fetches. `'refuse'`: members send contents only.
   * `'https'`: addresses with `https` whose host and all its addresses are public. `'any'`: every address, also of the operator's network.
   * null: `'refuse'` for an upstream at a private address, else `'https'`. docs/upstreams.md names each server's own barrier.
   */
  mediaByAddress: z.enum(['refuse', 'https', 'any']).nullable().default(null),
  /**
   * Whether it receives marks for the cache (`cache_control`) in chat completions, as OpenRouter, LiteLLM and proxies of Bedrock read them.
   * Anthropic's API always receives them; elsewhere they are dropped, and named in the header of dropped fields.
   */
  cacheControl: z.boolean().default(false),
  /**
   * Kinds of files that it accepts in messages. A file of another kind becomes a note to the model, and is named in the header of dropped
   * fields. null: every kind, until a rejection of documents, sound or video says otherwise; that is remembered until the next start.
   */
  accepts: z
    .array(z.enum(['image', 'document', 'audio', 'video']))
    .nullable()
    .default(null),
  /** Maximum concurrent calls, each on its own HTTP/1.1 connection. */
  connections: z.int().min(1).max(65_535).default(20_000),
  /**
   * Failed calls in a row after which a target rests: single calls probe whether it works again, and other turns that nothing else can serve
   * fail at once with the time of the next probe. Failures that a request may cause, as a 500, count for their account alone, whose requests
   * of that kind then rest in the same way, unless most of the active accounts fail. 0: it never rests.
   */
  restAfterFailures: z.int().min(0).default(5),
  /** How long a target rests after it has rejected the key; then one call probes it. 0: it does not rest. */
  rejectedKeyRestMs: z.int().min(0).max(86_400_000).default(60_000),
  /** Maximum calls that wait for a connection, and for how long. After that a call fails as busy and is refunded. */
  maxPending: z.int().min(0).default(1_000),
  /** How long such a call waits at most. */
  maxPendingMs: millisecondsSchema.default(5_000),
  /** `timeouts.firstByteMs` of this upstream; null: that one. For models that think or read for long before their first token. */
  firstByteMs: millisecondsSchema.nullable().default(null),
  /** `timeouts.idleMs` of this upstream; null: that one. */
  idleMs: millisecondsSchema.nullable().default(null),
})
