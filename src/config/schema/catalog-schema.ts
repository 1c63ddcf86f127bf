/** The schemas of what is sold: products with their targets, plans, prices and boosts. */
import { z } from 'zod'
import { defaultProductMedia } from '../../domain/billing/catalog/product.ts'

const creditsSchema = z.int().min(0)
const poolLimitsSchema = z.strictObject({
  /** Credits included a day. */
  day: creditsSchema,
  /** Credits included a week. */
  week: creditsSchema,
  /** Credits included a month. */
  month: creditsSchema,
})

/** Above this the cost of a turn of a million tokens might be more than an exact integer can hold. */
const maxDollars = 10_000
/** What an upstream charges, in dollars; it may have any number of decimal places. */
export const costSchema = z.number().min(0).max(maxDollars)

const targetSchema = z.strictObject({
  /** A name under `upstreams`. */
  upstream: z.string(),
  /** The upstream's own id of the model; null: the first one that it lists, for chat products. */
  model: z.string().min(1).nullable(),
  /** Share of the calls; a target of weight 0 serves only where the others have failed. */
  weight: z.number().min(0).default(1),
  /** What the operator pays for it, in dollars, for `svc-gateway report`; null: unknown. */
  cost: z
    .strictObject({
      /** Of a million tokens of the prompt. */
      input: costSchema,
      /** Of a million prompt tokens that the upstream reports as read from its cache; null: the same as `input`. */
      cachedInput: costSchema.nullable().default(null),
      /** Of a million tokens of the answer. */
      output: costSchema,
      /** Of each call, or of each picture that it draws, besides the tokens. */
      perCall: costSchema.default(0),
    })
    .nullable()
    .default(null),
})

export const productSchema = z.strictObject({
  /** Shown to members. */
  name: z.string().min(1),
  /** One sentence for members about what it is good for, in both languages of the website. */
  description: z
    .strictObject({
      /** In English. */
      en: z.string().min(1),
      /** In Chinese. */
      zh: z.string().min(1),
    })
    .nullable()
    .default(null),
  /** Decides the price, and which pool of a plan is charged: `light` → `fast`, `flagship` → `premium`. */
  tier: z.enum(['light', 'flagship']),
  /**
   * What the product does: images in a prompt need `vision`; `search` and `image` products answer searches and draw. An `embedding` product
   * serves `/v1/embeddings` alone, and only its input is charged.
   */
  capabilities: z.array(z.enum(['chat', 'tools', 'vision', 'search', 'image', 'embedding'])).default(['chat', 'tools']),
  /** Tokens of prompt and output together. */
  contextLength: z.int().min(1024),
  /** The highest answer cap that a request may name. */
  maxOutputTokens: z.int().min(16),
  /** Output tokens to reserve if the request names no cap. */
  defaultOutputTokens: z.int().min(16).default(2048),
  /** Tokens of pictures, documents, sound and video in a prompt. The maxima bound what a turn reserves and what it can be charged for them. */
  media: z
    .strictObject({
      /** One picture, whatever its size; null: `limits.imageTokens`. */
      imageTokens: z.int().min(0).nullable().default(defaultProductMedia.imageTokens),
      /** One picture at most; a smaller picture has less, by its pixels. */
      maxImageTokens: z.int().min(0).default(defaultProductMedia.maxImageTokens),
      /** One page of a PDF or of another document. */
      pageTokens: z.int().min(0).default(defaultProductMedia.pageTokens),
      /** One page at most. */
      maxPageTokens: z.int().min(0).default(defaultProductMedia.maxPageTokens),
      /** One second of sound. */
      audioSecondTokens: z.int().min(0).default(defaultProductMedia.audioSecondTokens),
      /** One second of sound at most. */
      maxAudioSecondTokens: z.int().min(0).default(defaultProductMedia.maxAudioSecondTokens),
      /** One second of video. */
      videoSecondTokens: z.int().min(0).default(defaultProductMedia.videoSecondTokens),
      /** One second of video at most. */
      maxVideoSecondTokens: z.int().min(0).default(defaultProductMedia.maxVideoSecondTokens),
    })
    .prefault({}),
  /** Credits of a turn whose upstream reports no tokens (images). */
  flatCredits: creditsSchema.nullable().default(null),
  /** ISO date from which the product is retired. */
  shutdownDate: z.iso.date().nullable().default(null),
  /** The models that serve it, one of them for each request. */
  targets: z.array(targetSchema).min(1),
  /** For `auto`: the first matching rule decides which product's targets serve the turn; without a match its own. */
  rules: z
    .array(
      z.strictObject({
        /** `images`: the prompt has an image; `long`: the prompt is estimated above `longerThanTokens`. */
        when: z.enum(['images', 'long']),
        /** For `long`. */
        longerThanTokens: z.int().min(1).optional(),
        /** The product whose targets and price are used. */
        use: z.string(),
      }),
    )
    .default([]),
})

const currencySchema = z
  .string()
  .refine(isCurrency, 'is no currency code such as USD')
  .default('USD')
  .transform((code) => code.toUpperCase())

export const packPriceSchema = z.strictObject({
  /** Above 0. */
  amount: z.number().positive(),
  /** Currency code of the amount (ISO 4217). */
  currency: currencySchema,
})

export const planSchema = z.strictObject({
  /** Shown to members. */
  name: z.string().min(1),
  /** What the plan costs; without a provider in `payments` it is shown, and the gateway collects no money. */
  prices: z
    .array(
      z.strictObject({
        /** Per interval; 0 is free. */
        amount: z.number().min(0),
        /** Currency code of the amount (ISO 4217). */
        currency: currencySchema,
        /** How often it is paid. */
        interval: z.enum(['month', 'year']).default('month'),
        /** Shown as “5×” beside the price. */
        multiplier: z.number().positive().nullable().default(null),
      }),
    )
    .min(1),
  /** Requests per minute, over all credentials of an account. */
  rpm: z.int().min(1),
  /** Concurrent turns. */
  concurrency: z.int().min(1),
  pools: z.strictObject({ fast: poolLimitsSchema, premium: poolLimitsSchema }),
  /** Products of the plan by id, or all of them. */
  models: z.union([z.literal('all'), z.array(z.string())]).default('all'),
})

/** Prices are stored in nano-dollars per token; a finer price would be charged differently from what members see. */
const dollarsSchema = z
  .number()
  .min(0)
  .max(maxDollars)
  .refine(isWholeInThousandths, 'has more than three decimal places (a thousandth of a dollar per million tokens); round it')
export const tierSchema = z
  .strictObject({
    /** Of the prompt. */
    input: dollarsSchema,
    /** Of prompt tokens that the upstream reports as read from its cache, at most `input`; null: the same as `input`. */
    cachedInput: dollarsSchema.nullable().default(null),
    /** Of the answer. */
    output: dollarsSchema,
    /** Taken off all of them; a change applies to new turns. */
    discountPercent: z.int().min(0).max(100),
  })
  // A hold covers the prompt at `input`.
  .refine(({ input, cachedInput }) => cachedInput === null || cachedInput <= input, {
    path: ['cachedInput'],
    message: 'is above `input`; tokens from a cache cost at most as much as others',
  })

/** At most a hundred years, so that the end of a pack is a valid date. */
export const boostSchema = z.strictObject({
  /** The pool whose products it can be spent on. */
  pool: z.enum(['fast', 'premium']).default('fast'),
  /** Credits of one pack. */
  credits: creditsSchema,
  /** How long a pack is valid. */
  days: z.int().min(1).max(36_500),
})

function isCurrency(code: string): boolean {
  return Intl.supportedValuesOf('currency').includes(code.toUpperCase())
}

function isWholeInThousandths(price: number): boolean {
  const thousandths = price * 1000
  return Math.abs(thousandths - Math.round(thousandths)) < 1e-6
}
