/** V8 14.6: JSON.parse of deeply nested text with an error at its end corrupts the heap. The launcher has the same pattern (ADR 0062). */
const faultyV8 = /^14\.6\./

/** The known fault of the JavaScript engine that this process runs on, with the remedy; null without one. */
export function describeEngineFault(
  { node, v8 }: { readonly node: string; readonly v8: string } = process.versions,
): string | null {
  if (!faultyV8.test(v8)) return null
  return `Node ${node} (V8 14.6) has a fault in JSON.parse, by which a request can end the process; run it on Node 24`
}
