/** Reads values of a JSON document whose shape is not known. */
import { isRecord } from '../../exchange/request/chat-request.ts'

/** A string; empty for any other value. `String` throws for an object whose `toString` is no function. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A positive number; 0 for any other value. */
export function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

/** An object; an empty one for any other value. */
export function toFields(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** The objects of a list; none for any other value. */
export function readObjects(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isRecord) : []
}
