/** The one shape in which every failure reaches a caller. */
import { z } from 'zod'
import { actions, catalogue, stages } from '../errors.ts'
import type { Code } from '../errors.ts'

const codes = z.enum(Object.keys(catalogue) as [Code, ...Code[]])
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
    status: z.int().optional().meta({ description: 'At the end of a stream: the status that could not be said any more.' }),
  })
  .meta({ id: 'Failure', description: 'Every failure, whoever rendered it.' })
