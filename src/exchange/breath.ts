/**
 * How megabytes are worked through without holding everybody else up: in slices, and between two of them whatever else is ready to be
 * done. What cannot be cut, such as one call of the JSON parser, at least stands in a round of its own.
 */

/** Requests above this many bytes are worked through in slices; below it the pauses would cost more than the work. */
const largeBytes = 128 * 1024

/** Bytes or characters of a slice: a few tenths of a millisecond. */
export const slice = 32 * 1024

export function isLarge(bytes: number): boolean {
  return bytes > largeBytes
}

/** There is one event loop, and this is the line before it. It is empty whenever nobody waits. */
const waiting: (() => void)[] = []

/** Resolves in a later round of the event loop. Of all that wait, however many they are, one a round goes on. */
export function breath(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGo)
  })
}

function letOneGo(): void {
  // What this one does now, up to its next breath, happens before anything else of the round.
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letOneGo)
}
