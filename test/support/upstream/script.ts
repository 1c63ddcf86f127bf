/** The script of one demo answer: which faults it has. */
import { z } from 'zod'
import { BadRequest } from '../../../src/demo-upstream/request.ts'
import { parseJson } from '../../../src/system/parse-json.ts'

/**
 * The script of one demo answer. Every field is optional and keeps the usual behaviour if left out. Scripts come from a test
 * (`script(fn)`), the header `x-demo-script`, or a last user message `demo:{...}`.
 */
export type Script = z.infer<typeof scriptSchema>

/** Parses a script from JSON. @throws BadRequest naming the error; unknown keys are errors, so that no typing error passes */
export function parseScript(json: string): Script {
  try {
    return scriptSchema.parse(parseJson(json))
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON'
    throw new BadRequest(`The demonstration script cannot be read: ${reason}`, { code: 'invalid_script' })
  }
}

const count = z.number().int().nonnegative()
const breakPoint = z.union([z.strictObject({ afterBytes: count }), z.strictObject({ afterEvents: count })])

const scriptSchema = z
  .strictObject({
    // Content.
    /** The text of the answer. */
    text: z.string(),
    /** Reasoning that a stream sends before the answer, as DeepSeek does. */
    reasoning: z.string(),
    /** Length of the answer in tokens, in place of the usual text. */
    tokens: count,
    /** How many tokens each event of a stream carries; one by default. */
    tokensPerEvent: count.min(1),
    /** Sends the whole answer, whatever cap was requested. */
    ignoreCap: z.literal(true),
    /** Adds one piece of text of so many bytes. */
    hugeBytes: count,

    // Replacements of the answer.
    /** Answers with this status; `body` is sent as it is (a string) or as JSON. */
    status: z.number().int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    body: z.unknown(),
    /** The whole answer as one document, even if a stream was requested. */
    whole: z.literal(true),
    /** A web page with status 200. */
    html: z.literal(true),
    /** A 200 without a body. */
    empty: z.literal(true),
    /** A 307 to this address. */
    redirect: z.string(),

    // Ending.
    /** Finish reason in place of the usual one; `null` leaves it out, and `[DONE]` with it. */
    finish: z.string().nullable(),
    /** `false` leaves `[DONE]` out, `true` sends it in any case. */
    done: z.boolean(),
    /**
     * An error object inside the 200: before event number `at`, before the `last` one, as the `whole` body, or in the first `choice` as
     * OpenRouter does. `value` is the value of `error`.
     */
    error: z.strictObject({ at: z.union([count, z.enum(['first', 'last', 'whole', 'choice'])]), value: z.unknown().optional() }),

    // Usage.
    /** Sent in place of the true usage; `null` sends none. */
    usage: z.unknown(),
    /** Position of the usage in a stream: in its own chunk (usual), twice, or on the last, the first, or every chunk. */
    usageOn: z.enum(['own', 'twice', 'finish', 'first', 'every']),

    // Time.
    /** Milliseconds until the first byte of the response, including its head. */
    headMs: count,
    /** Milliseconds from the head to the first event. */
    ttftMs: count,
    /** Milliseconds between events. */
    betweenMs: count,
    /** Comment lines (`: keep-alive`) before the first event. */
    comments: count,
    /** Stops there and stays silent until the client disconnects. */
    hang: z.union([z.enum(['before_headers', 'after_headers']), z.strictObject({ afterEvents: count })]),

    // Bytes.
    /** The connection is reset (RST) there; bytes are counted from the status line. An answer without events counts bytes only. */
    reset: breakPoint,
    /** The connection is closed (FIN) there. */
    cut: breakPoint,
    /** Every write carries this many bytes, so that events and characters are split. */
    split: count.min(1),
    /** So many bytes at a time, with a pause. */
    drip: z.strictObject({ bytes: count.min(1), everyMs: count }),
    /** Lines of the stream end in CR LF. */
    crlf: z.literal(true),
    gzip: z.literal(true),
    /** Answers without reading the request's body (only a header or a test can request it). */
    early: z.literal(true),
  })
  .partial()
