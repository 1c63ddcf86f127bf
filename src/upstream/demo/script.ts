/** How one answer of the demonstration upstream shall go wrong (or be shaped). */
import { z } from 'zod'
import { BadRequest } from './request.ts'

/**
 * How one answer of the demonstration upstream shall go wrong (or be shaped). Everything is optional; what is left out is as
 * usual. Scripts come from a test (`script(fn)`), the header `x-demo-script`, or a last user message `demo:{...}`.
 */
export type Script = z.infer<typeof scriptShape>

/** Reads a script from its JSON. Throws `BadRequest` naming the fault; an unknown key is one, so that no typing error passes. */
export function parseScript(json: string): Script {
  try {
    return scriptShape.parse(JSON.parse(json))
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON'
    throw new BadRequest(`The demonstration script cannot be read: ${reason}`, { code: 'invalid_script' })
  }
}

const count = z.number().int().nonnegative()
const place = z.union([z.strictObject({ afterBytes: count }), z.strictObject({ afterEvents: count })])

const scriptShape = z
  .strictObject({
    // What it says.
    /** The text of the answer. */
    text: z.string(),
    /** What a stream says it thought before the answer, as DeepSeek does. */
    reasoning: z.string(),
    /** Length of the answer in tokens, in place of what it would say. */
    tokens: count,
    /** Adds one piece of text of so many bytes. */
    hugeBytes: count,

    // In place of an answer.
    /** Answers with this status; `body` is sent as it is (a string) or as JSON. */
    status: z.number().int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    body: z.unknown(),
    /** The whole answer as one document, also where a stream was asked for. */
    whole: z.literal(true),
    /** A web page with status 200. */
    html: z.literal(true),
    /** A 200 without a single byte of body. */
    empty: z.literal(true),
    /** A 307 to this address. */
    redirect: z.string(),

    // How it ends.
    /** Finish reason in place of the usual one; `null` leaves it out, and `[DONE]` with it. */
    finish: z.string().nullable(),
    /** `false` leaves `[DONE]` out, `true` sends it in any case. */
    done: z.boolean(),
    /**
     * An error object inside the 200: before event number `at`, before the `last` one, as the `whole` body, or in the first
     * `choice` as OpenRouter does. `value` is what stands under `error`.
     */
    error: z.strictObject({ at: z.union([count, z.enum(['first', 'last', 'whole', 'choice'])]), value: z.unknown().optional() }),

    // Usage.
    /** Sent in place of the honest usage; `null` sends none. */
    usage: z.unknown(),
    /** Where in a stream the usage stands: in a chunk of its own (usual), twice so, or on the finish, the first, or every chunk. */
    usageOn: z.enum(['own', 'twice', 'finish', 'first', 'every']),

    // Time.
    /** Milliseconds until the first byte of the answer, its head included. */
    headMs: count,
    /** Milliseconds from the head to the first event. */
    ttftMs: count,
    /** Milliseconds between events. */
    betweenMs: count,
    /** Comment lines (`: keep-alive`) before the first event. */
    comments: count,
    /** Stops there and stays silent until the peer leaves. */
    hang: z.union([z.enum(['before_headers', 'after_headers']), z.strictObject({ afterEvents: count })]),

    // The bytes.
    /** The connection is reset (RST) there; bytes are counted from the status line on. An answer without events has only bytes. */
    reset: place,
    /** The connection is closed (FIN) there, in the middle of whatever it was. */
    cut: place,
    /** Every write carries this many bytes, so that events and characters arrive in parts. */
    split: count.min(1),
    /** So many bytes at a time, with a pause. */
    drip: z.strictObject({ bytes: count.min(1), everyMs: count }),
    /** Lines of the stream end in CR LF. */
    crlf: z.literal(true),
    gzip: z.literal(true),
    /** Answers without reading the request's body (only a header or a test can ask for it). */
    early: z.literal(true),
  })
  .partial()
