/** The response body of every failure. */
import { z } from 'zod'
import { actions, errorCatalog, stages } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'

const codes = z.enum(Object.keys(errorCatalog) as [ErrorCode, ...ErrorCode[]])
export const envelope = z
  .strictObject({
    ok: z.literal(false),
    requestId: z.string().regex(/^mbr_[A-Za-z0-9._-]+$/),
    /** In OpenAI's form, for its SDKs. */
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      code: codes,
      param: z.string().nullable().meta({ description: 'The field at fault.' }),
    }),
    message: z.string().min(1),
    messageZh: z.string().min(1),
    code: codes,
    stage: z.enum(stages),
    actions: z.array(z.enum(actions)),
    debug: z.strictObject({
      productModel: z.string().optional(),
      upstreamStatus: z.int().optional(),
      upstreamHost: z.string().optional(),
      quotaRefunded: z.boolean().optional(),
      latencyMs: z.number().optional(),
    }),
    status: z
      .int()
      .optional()
      .meta({ description: 'At the end of a stream: the status, which could not be sent as headers had left.' }),
  })
  .meta({ id: 'Failure', description: 'The body of every failure.' })

/** A failure in the format of JSON-RPC, for MCP clients. */
export const jsonRpcFailure = z
  .strictObject({
    jsonrpc: z.literal('2.0'),
    id: z.null(),
    error: z.strictObject({
      code: z.int(),
      message: z.string().min(1).meta({ description: 'The sentence, and a line with the reference.' }),
      data: z.strictObject({
        requestId: z.string(),
        code: codes,
        stage: z.enum(stages),
        actions: z.array(z.enum(actions)),
        messageZh: z.string().min(1),
      }),
    }),
  })
  .meta({ id: 'JsonRpcFailure', description: 'A failure as a JSON-RPC error.' })

const errorFields = { message: z.string().min(1), type: z.string().min(1) }
/** Fields of the envelope that the failures of other API formats have as well. */
const commonFields = { code: codes, stage: z.enum(stages), actions: z.array(z.enum(actions)), messageZh: z.string().min(1) }

/** A failure in the format of OpenAI's responses, with the fields of the envelope. */
export const responsesFailure = z
  .looseObject({
    error: z.looseObject({ ...errorFields, code: z.string().nullable(), param: z.string().nullable() }),
    ...commonFields,
  })
  .meta({
    id: 'ResponsesFailure',
    description: 'A failure as clients of responses read it. The status may differ from the catalogue’s.',
  })

/** A failure in the format of Google's APIs, with the fields of the envelope. */
export const geminiFailure = z
  .looseObject({
    error: z.looseObject({ code: z.int(), message: z.string().min(1), status: z.string().min(1) }),
    ...commonFields,
  })
  .meta({
    id: 'GeminiFailure',
    description: 'A failure as clients of the Gemini API read it. The status may differ from the catalogue’s.',
  })

/** A failure in the format of Anthropic's messages, with the fields of the envelope. */
export const messagesFailure = z
  .looseObject({ type: z.literal('error'), error: z.looseObject(errorFields), request_id: z.string(), ...commonFields })
  .meta({
    id: 'MessagesFailure',
    description: 'A failure as clients of messages read it. The status may differ from the catalogue’s.',
  })

/** A failure of the operator API, as RFC 9457 has it, with the code of the catalogue. */
export const problem = z
  .strictObject({
    type: z.string().meta({ description: 'The address of the page that explains the code.' }),
    title: codes.meta({ description: 'The code.' }),
    status: z.int(),
    detail: z.string().min(1),
    instance: z.string().meta({ description: 'The request id.' }),
    code: codes,
    param: z.string().nullable().meta({ description: 'The field at fault.' }),
    detail_zh: z.string().min(1),
    actions: z.array(z.enum(actions)),
  })
  .meta({ id: 'Problem', description: 'A failure of the operator API (RFC 9457).' })
