/** A gateway as a process of its own, with a member for each refusal. Prints one line of JSON, and ends with standard input. */
import type { Test } from 'tap'
import { startGateway } from '../../../test/support/gateway/test-gateway.ts'
import { ProgramScope } from '../../cluster/program-scope.ts'

const scope = new ProgramScope()
const amount = { day: 1e12, week: 1e12, month: 1e12 }
const nothing = { day: 0, week: 0, month: 0 }
const plan = { name: 'Test', prices: [{ amount: 0 }], concurrency: 100_000 }
const gateway = await startGateway(
  scope as unknown as Test,
  {
    listen: { trustedProxies: ['127.0.0.1'] },
    limits: { addressRpm: 1e9, chatBodyBytes: Number(process.argv[2]) },
    plans: {
      ample: { ...plan, rpm: 1e9, pools: { fast: amount, premium: amount } },
      limited: { ...plan, rpm: 1, pools: { fast: amount, premium: amount } },
      poor: { ...plan, rpm: 1e9, pools: { fast: nothing, premium: nothing } },
    },
  },
  { verify: false },
)
const [good, limited, poor] = await Promise.all(['ample', 'limited', 'poor'].map((name) => gateway.createMember(name)))
await (await gateway.chat(limited?.token ?? '')).arrayBuffer()
process.stdout.write(`${JSON.stringify({ url: gateway.url, good: good?.token, limited: limited?.token, poor: poor?.token })}\n`)
process.stdin.resume().once('end', () => void scope.close().then(() => process.exit()))
