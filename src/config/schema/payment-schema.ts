/** The schemas of what is sold for money: packs of credits, and the providers through which members pay. */
import { z } from 'zod'
import { packPriceSchema } from './catalog-schema.ts'
import { secretSchema, urlSchema } from './value-schemas.ts'

export const packSchema = z.strictObject({
  /** Its name in orders; do not give it to another pack later. */
  id: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
  /** Credits of the pack. */
  credits: z.int().min(1),
  /** The pool whose products they can be spent on. */
  pool: z.enum(['fast', 'premium']),
  /** What it costs; one price for each currency. */
  prices: z.array(packPriceSchema).min(1),
  /** How long the credits can be spent; null: they have no end. */
  days: z.int().min(1).max(36_500).nullable().default(null),
})

const stripeSchema = z.strictObject({
  /** The account's secret key, or a restricted key with the permissions of docs/payments.md. */
  secretKey: secretSchema.nullable(),
  /** The signing secret of the endpoint at Stripe that sends to `/payments/stripe/notify`. */
  webhookSecret: secretSchema.nullable(),
  /** Whether Stripe computes the tax that a price includes, and shows it on invoices; Stripe Tax needs a registration. */
  automaticTax: z.boolean().default(false),
  /** Address of the API, if it is not Stripe's own: a stand-in for tests. */
  endpoint: urlSchema.nullable().default(null),
})

const manualSchema = z.strictObject({
  /** How members pay; `{reference}` becomes the number of the order and `{amount}` what is due. */
  instructions: z.strictObject({
    /** In English. */
    en: z.string().min(1),
    /** In Chinese; null: the English text. */
    zh: z.string().min(1).nullable().default(null),
  }),
})

const moduleSchema = z.strictObject({
  /** A module that exports `createPaymentProvider` (docs/payments.md): a path from the working directory, or a package. */
  module: z.string().min(1),
  /** Passed to `createPaymentProvider`. */
  options: z.record(z.string(), z.unknown()).default({}),
})

/** Every other name has a module; the types of a record with some names of its own have to admit those too. */
type ProviderSchema = z.ZodType<
  z.output<typeof moduleSchema | typeof stripeSchema | typeof manualSchema>,
  z.input<typeof moduleSchema | typeof stripeSchema | typeof manualSchema>
>

export const paymentSchema = z
  .strictObject({
    /** Who collects the money. The first one is offered first; without any, nothing is sold. */
    providers: z
      .strictObject({
        /** Stripe Checkout: cards and what else the account accepts, once or recurring. */
        stripe: stripeSchema.optional(),
        /** Bank transfer or cash, which the operator confirms with `svc-gateway order confirm`. */
        manual: manualSchema.optional(),
      })
      .catchall(moduleSchema as ProviderSchema)
      .default({}),
    /** Whether the provider for demonstrations is offered, which moves no money; only where this server is reached from this machine alone. */
    demo: z
      // The text of the variable, so that the shipped file needs no cast.
      .union([z.boolean(), z.string()])
      .refine((value) => typeof value === 'boolean' || value === 'demo', "must be true, false or 'demo'")
      .transform((value) => value !== false)
      .default(false),
    /** Lines about the seller on receipts: name, address, registrations. */
    legalLines: z.array(z.string().min(1).max(200)).max(12).default([]),
    /** What receipts say about tax; null: nothing. */
    taxText: z
      .strictObject({
        /** In English. */
        en: z.string().min(1),
        /** In Chinese. */
        zh: z.string().min(1),
      })
      .nullable()
      .default(null),
  })
  .prefault({})
