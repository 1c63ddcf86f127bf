/** Fields shared by endpoints. Input typed by people is parsed leniently, output is strict. */
import { z } from 'zod'

/** Text typed by people has no control characters. */
// eslint-disable-next-line no-control-regex
export const printable = /^[^\u0000-\u001f\u007f]*$/

export function text(max: number): z.ZodString {
  return z.string().min(1).max(max).regex(printable)
}

/** Absent, null and empty are all null. */
export function optionalText(max: number) {
  return z
    .string()
    .max(max)
    .regex(printable)
    .nullish()
    .transform((input) => (input === undefined || input === '' ? null : input))
}

/** Any characters; its strength is checked elsewhere, and this length only bounds the input. */
export const password = z.string().min(1).max(1024)

/** Documents the bounds of `passwordLengthBounds`, which are counted in code points when the password is set. */
export const newPassword = password.meta({ minLength: 8, maxLength: 128 })

/** Removes spaces and dashes, which people copy along with a code. */
export function stripCodeSeparators(input: string): string {
  return input.replaceAll(/[\s-]/g, '')
}

/** Parsed by `parseEmail`, which accepts less than the format. */
export const email = text(320).meta({ format: 'email' })
export const invite = optionalText(64).meta({ description: "A member's invitation code." })

/** RFC 3339, in UTC. */
export const instant = z.iso.datetime()
export const credits = z.int()
export const count = z.int().min(0)
/** Whole seconds from now. */
export const seconds = z.int().min(0)

export const pool = z.enum(['fast', 'premium'])
/** Of fields with the name `tier`, which clients read: the values are those of a pool. */
export const poolAsTier = pool.meta({ description: 'The pool; the name of the field is older than the word.' })
export const tier = z.enum(['light', 'flagship'])
export const ok = z.literal(true)

/** Prices in dollars per million tokens: listed and charged. */
export const price = {
  input: z.number(),
  cached_input: z.number().meta({ description: 'Of prompt tokens that the upstream read from its cache.' }),
  output: z.number(),
  discount_percent: z.number(),
  effective_input: z.number(),
  effective_cached_input: z.number(),
  effective_output: z.number(),
  currency: z.literal('USD'),
  per: z.literal(1_000_000),
} as const

/** `{object: "list", data: […]}` with extra fields. */
export function createListSchema<Item extends z.ZodType, const Extra extends z.ZodRawShape = Record<never, never>>(
  item: Item,
  extraFields: Extra = {} as Extra,
) {
  return z.strictObject({ object: z.literal('list'), data: z.array(item), ...extraFields })
}
