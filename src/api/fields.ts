/** Fields that more than one endpoint has. What people type is read leniently, what we say is said strictly. */
import { z } from 'zod'

/** Nothing typed by a person has control characters. */
// eslint-disable-next-line no-control-regex
const printable = /^[^\u0000-\u001f\u007f]*$/

export function text(max: number): z.ZodString {
  return z.string().min(1).max(max).regex(printable)
}

/** Left out, null and empty are the same: null. */
export function optionalText(max: number) {
  return z
    .string()
    .max(max)
    .regex(printable)
    .nullish()
    .transform((sent) => (sent === undefined || sent === '' ? null : sent))
}

/** As it is, whatever its letters; how good it is is judged elsewhere, and this size cannot be meant. */
export const password = z.string().min(1).max(1024)

/** Digits and letters; spaces and dashes, as people copy them, do not count. */
export function bareCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, '')
}

export const email = text(320)
export const invite = optionalText(64).meta({ description: "A member's invitation code." })

/** RFC 3339, in UTC. */
export const instant = z.iso.datetime()
export const credits = z.int()
export const count = z.int().min(0)
/** Whole seconds from now. */
export const seconds = z.int().min(0)

export const pool = z.enum(['fast', 'premium'])
export const tier = z.enum(['light', 'flagship'])
export const ok = z.literal(true)

/** Prices in dollars a million tokens: as listed, and as charged. */
export const price = {
  input: z.number(),
  output: z.number(),
  discount_percent: z.number(),
  effective_input: z.number(),
  effective_output: z.number(),
  currency: z.literal('USD'),
  per: z.literal(1_000_000),
} as const

/** `{object: "list", data: […]}`, with what stands beside. */
export function listOf<Item extends z.ZodType, const Beside extends z.ZodRawShape = Record<never, never>>(
  item: Item,
  beside: Beside = {} as Beside,
) {
  return z.strictObject({ object: z.literal('list'), data: z.array(item), ...beside })
}
