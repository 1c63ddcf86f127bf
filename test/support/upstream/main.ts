/**
 * The fake upstream as a process of its own, for benchmarks and manual tests: `node test/support/upstream/main.ts --port 9090 --scripted`.
 * Prints its base URL as its only line of output.
 */
import { parseArgs } from 'node:util'
import { startFakeUpstream } from './server.ts'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    key: { type: 'string' },
    scripted: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    /** Shape of `demo-bench`: tokens per stream, milliseconds between them. */
    'bench-tokens': { type: 'string', default: '20' },
    'bench-between-ms': { type: 'string', default: '0' },
  },
})

const demo = await startFakeUpstream({
  host: values.host,
  port: toCount('port'),
  scripted: values.scripted,
  faults: values.faults,
  bench: { tokens: toCount('bench-tokens'), betweenMs: toCount('bench-between-ms') },
  ...(values.key === undefined ? {} : { key: values.key }),
})
process.stdout.write(`${demo.url}\n`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void demo.close())

function toCount(name: 'port' | 'bench-tokens' | 'bench-between-ms'): number {
  const value = values[name]
  if (!/^\d{1,6}$/.test(value)) throw new Error(`--${name} must be a whole number, not "${value}"`)
  return Number(value)
}
