/** Recordings of what real model servers answer: their format, how they are loaded, and the bytes they stand for. `README.md` explains the fields. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The folders of `recordings/`, one per server. */
export const servers = ['llama-cpp-python', 'transformers-serve', 'ollama', 'litellm'] as const
export type ServerName = (typeof servers)[number]

export interface Recording {
  /** Name and version of the server. */
  readonly server: string
  readonly case: string
  /** What was done to the server meanwhile. */
  readonly did?: string
  readonly request: RecordedRequest
  readonly response: RecordedResponse
  /** Later requests on the same connection. */
  readonly next?: readonly FollowingRequest[]
}

export interface RecordedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** A string where the exact bytes matter, otherwise the JSON value. */
  readonly body?: unknown
}

export interface RecordedResponse {
  /** Status line and headers with the empty line at their end; empty where no byte came. */
  readonly head: string
  readonly chunks: readonly RecordedChunk[]
  /** Complete by its own framing. */
  readonly complete: boolean
  readonly closed: boolean
  readonly closedAfterMs: number | null
  readonly closedBy?: 'FIN' | 'RST'
  readonly watchedForMs?: number
}

/** One read from the socket, `ms` after the request was sent. */
export interface RecordedChunk {
  readonly ms: number
  readonly text?: string
  /** In place of `text` where the bytes are not UTF-8. */
  readonly base64?: string
}

export interface FollowingRequest {
  readonly request: RecordedRequest
  /** Null where the request could not be sent, for the reason in `note`. */
  readonly response: RecordedResponse | null
  readonly sentAfterMs: number
  readonly note?: string
}

const folder = join(import.meta.dirname, 'recordings')

export function loadRecording(server: ServerName, name: string): Recording {
  return JSON.parse(readFileSync(join(folder, server, `${name}.json`), 'utf8')) as Recording
}

/** The names of a server's cases, sorted. */
export function listCases(server: ServerName): string[] {
  return readdirSync(join(folder, server))
    .map((file) => file.replace(/\.json$/, ''))
    .toSorted()
}

/** The status of an answer; null where no byte came. */
export function statusOf({ head }: RecordedResponse): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
  return status === undefined ? null : Number(status)
}

/** The bytes of the head and of each chunk, in order. */
export function piecesOf({ head, chunks }: RecordedResponse): { readonly ms: number; readonly bytes: Buffer }[] {
  const pieces = chunks.map(({ ms, text = '', base64 }) => ({
    ms,
    bytes: base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64'),
  }))
  return head === '' ? pieces : [{ ms: chunks[0]?.ms ?? 0, bytes: Buffer.from(head, 'latin1') }, ...pieces]
}

export function bytesOf(response: RecordedResponse): Buffer {
  return Buffer.concat(piecesOf(response).map(({ bytes }) => bytes))
}
