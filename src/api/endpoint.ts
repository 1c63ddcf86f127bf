/**
 * An endpoint as one value: where it is, who may ask, what is sent and what comes back. The routes serve these values, the command and the
 * pages call them with their types, and `openapi.json` and the tables of the documentation are made of them.
 */
import type { z } from 'zod'
import type { Code } from '../errors.ts'

/** Who may ask, and by what it is known who they are. */
export type Asker =
  /** No proof is asked for, and any page may ask. */
  | 'anybody'
  /** The same, but what a browser marks as another site's page is refused. */
  | 'visitor'
  /** The website's session cookie alone; what is written must come from our own pages. */
  | 'cookie'
  /** The cookie, or the Bearer token of a session; never an API key. */
  | 'session'
  /** Whatever the chain's `auth` takes: an API key, a session, the cookie of our own pages, a trusted issuer's token. */
  | 'caller'
  /** Whoever has the address, which is signed. */
  | 'link'
  /** The operator's own token. */
  | 'operator'

export interface Endpoint {
  readonly method: 'get' | 'post' | 'delete'
  /** Whole, as in `/api/membership/auth/api-keys/{id}`. */
  readonly path: `/${string}`
  /** Further addresses of the same; what is under `/api/membership` has one besides (`addressesOf`). */
  readonly alsoAt?: readonly `/${string}`[]
  readonly who: Asker
  /** What it does, in a line. */
  readonly about: string
  readonly query?: z.ZodObject
  /** What is sent, as JSON; unnamed fields are nobody's business. */
  readonly body?: z.ZodObject
  /** Of success; 200 where nothing is said. */
  readonly status?: 200 | 201 | 302 | 303
  /** The JSON that answers a success; nothing where the answer is something else (`media`). */
  readonly answer?: z.ZodType
  /** What else a success comes as: a picture, a page, a stream of events. */
  readonly media?: string
  /** JSON answers under other statuses that are not the envelope. */
  readonly others?: Readonly<Record<number, z.ZodType>>
  /** The failures of its own; those of everybody who asks in this way are known (`failuresOf`). */
  readonly errors: readonly Code[]
}

/** Keeps the exact type of what it is given. */
export function endpoint<const E extends Endpoint>(described: E): E {
  return described
}

/** The parsed body; what is sent may be looser (`SentTo`). */
export type BodyOf<E> = E extends { readonly body: infer Body extends z.ZodType } ? Fixed<z.output<Body>> : undefined
export type SentTo<E> = E extends { readonly body: infer Body extends z.ZodType } ? Fixed<z.input<Body>> : undefined
export type QueryOf<E> = E extends { readonly query: infer Query extends z.ZodType } ? Fixed<z.output<Query>> : undefined
export type AnswerOf<E> = E extends { readonly answer: infer Answer extends z.ZodType } ? Fixed<z.output<Answer>> : undefined
/** The names in braces. */
export type ParamsOf<E extends Pick<Endpoint, 'path'>> = Readonly<Record<NamesIn<E['path']>, string>>

/** Nobody changes what came or what goes. */
export type Fixed<T> = T extends readonly (infer Item)[]
  ? readonly Fixed<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Fixed<T[K]> }
    : T

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

const membership = '/api/membership/'

/** Every address it stands at. */
export function addressesOf({ path, alsoAt = [] }: Pick<Endpoint, 'path' | 'alsoAt'>): readonly string[] {
  const versioned = path.startsWith(membership) ? [`${membership}v1/${path.slice(membership.length)}`] : []
  return [path, ...versioned, ...alsoAt]
}

/** Every code that it can fail with, its own first. */
export function failuresOf({ who, body, errors }: Endpoint): readonly Code[] {
  const ofWho: Readonly<Record<Asker, readonly Code[]>> = {
    anybody: [],
    visitor: ['forbidden_origin'],
    cookie: ['sign_in_required', 'forbidden_origin'],
    session: ['sign_in_required', 'forbidden_origin'],
    caller: ['sign_in_required', 'temporarily_unavailable'],
    link: [],
    operator: [],
  }
  const ofBody: readonly Code[] = body === undefined ? [] : ['payload_too_large', 'unsupported_media_type']
  // What is no HTTP, as without a Host, is no valid request anywhere.
  return [...new Set<Code>([...errors, ...ofWho[who], ...ofBody, 'invalid_request', 'rate_limited', 'internal_error'])]
}
