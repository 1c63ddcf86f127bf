/**
 * An endpoint as one value: path, authentication, input and output. Routes serve these values, the CLI and the pages call them with their
 * types, and `openapi.json` and the tables of the documents are generated from them.
 */
import type { z } from 'zod'
import type { OperatorAccess } from '../domain/identity/operators/operator-actor.ts'
import type { ErrorCode } from '../errors.ts'

/** How a client authenticates. */
export type Security =
  /** No authentication; any page may send it. */
  | 'public'
  /** No authentication, but requests that a browser marks as another site's are refused. */
  | 'same_site'
  /** The website's session cookie alone; writes must come from our own pages. */
  | 'session_cookie'
  /** The cookie, or a session's Bearer token; never an API key. */
  | 'session'
  /** Anything the chain's `auth` plugin accepts: an API key, a session, the cookie of our own pages, a trusted issuer's token. */
  | 'api_credential'
  /** A signed URL. */
  | 'signed_url'
  /** The operator's token. */
  | 'operator_token'
  /** The console's session, a shell link's, or an operator key; `operator` of the endpoint says what they need. */
  | 'operator'
  /** A token that a command of the operator has signed with the installation's secret; it expires within minutes. */
  | 'diagnostic_token'

/** The format of failures where it is not the error envelope. */
export type FailureFormat = 'json_rpc' | 'problem' | 'responses' | 'messages' | 'gemini'

export interface Endpoint {
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** The full path, as in `/api/membership/auth/api-keys/{id}`. */
  readonly path: `/${string}`
  /** Further paths of the same endpoint; those under `/api/membership` have one more (`getPaths`). */
  readonly aliases?: readonly `/${string}`[]
  readonly security: Security
  /** What an endpoint of the operator API needs; set exactly where `security` is `operator`. */
  readonly operator?: OperatorAccess & {
    /** Its answer has a secret, so it is not kept for a repeat of the request. */
    readonly showsSecret?: true
  }
  /** One line that describes it. */
  readonly summary: string
  readonly query?: z.ZodObject
  /** The body, in JSON unless `bodyMediaType` says otherwise; unknown fields are ignored. */
  readonly body?: z.ZodObject
  readonly bodyMediaType?: 'application/x-www-form-urlencoded'
  /** The status of success; 200 by default. */
  readonly status?: 200 | 201 | 302 | 303
  /** The JSON body of success; undefined for other media (`mediaType`). */
  readonly response?: z.ZodType
  /** The media type of a success that is not JSON: an image, a page, an event stream. */
  readonly mediaType?: string
  /** The format of failures; the error envelope by default. */
  readonly failureFormat?: FailureFormat
  /** JSON bodies of other statuses that are neither. */
  readonly otherResponses?: Readonly<Record<number, z.ZodType>>
  /** Media types of other statuses that are not JSON; null for an empty body. */
  readonly otherMediaTypes?: Readonly<Record<number, string | null>>
  /** It runs a turn: its answers carry what that cost, in headers or in a stream's last event. */
  readonly isTurn?: true
  /** Error codes of its own; `getErrorCodes` adds those of its authentication. */
  readonly errors: readonly ErrorCode[]
}

/** Keeps the exact type of its argument. */
export function defineEndpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

/** The parsed body; clients may send a looser one (`BodyInputOf`). */
export type BodyOf<E> = E extends { readonly body: infer Body extends z.ZodType } ? DeepReadonly<z.output<Body>> : undefined
export type BodyInputOf<E> = E extends { readonly body: infer Body extends z.ZodType } ? DeepReadonly<z.input<Body>> : undefined
export type QueryInputOf<E> = E extends { readonly query: infer Query extends z.ZodType }
  ? DeepReadonly<z.input<Query>>
  : undefined
export type QueryOf<E> = E extends { readonly query: infer Query extends z.ZodType } ? DeepReadonly<z.output<Query>> : undefined
export type ResponseOf<E> = E extends { readonly response: infer Response extends z.ZodType }
  ? DeepReadonly<z.output<Response>>
  : undefined
/** The path parameters. */
export type ParamsOf<E extends Pick<Endpoint, 'path'>> = Readonly<Record<PathParamNames<E['path']>, string>>

/** Inputs and outputs are not modified. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

type PathParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParamNames<Rest>
  : never

const membershipPrefix = '/api/membership/'

/** All paths of an endpoint. */
export function getPaths({ path, aliases = [] }: Pick<Endpoint, 'path' | 'aliases'>): readonly string[] {
  const versioned = path.startsWith(membershipPrefix) ? [`${membershipPrefix}v1/${path.slice(membershipPrefix.length)}`] : []
  return [path, ...versioned, ...aliases]
}

/** All error codes of an endpoint, its own first. */
export function getErrorCodes({ security, body, bodyMediaType, errors }: Endpoint): readonly ErrorCode[] {
  const codesBySecurity: Readonly<Record<Security, readonly ErrorCode[]>> = {
    public: [],
    same_site: ['forbidden_origin'],
    session_cookie: ['sign_in_required', 'forbidden_origin'],
    session: ['sign_in_required', 'forbidden_origin'],
    api_credential: ['sign_in_required', 'temporarily_unavailable'],
    signed_url: [],
    operator_token: [],
    operator: [
      'sign_in_required',
      'forbidden_origin',
      'second_factor_required',
      'step_up_required',
      'permission_denied',
      'not_found',
      'conflict',
    ],
    diagnostic_token: [],
  }
  const bodyCodes: readonly ErrorCode[] =
    body === undefined || bodyMediaType !== undefined ? [] : ['payload_too_large', 'unsupported_media_type']
  // Malformed HTTP, such as a missing Host header, is invalid_request everywhere.
  return [
    ...new Set<ErrorCode>([
      ...errors,
      ...codesBySecurity[security],
      ...bodyCodes,
      'invalid_request',
      'rate_limited',
      'internal_error',
    ]),
  ]
}
