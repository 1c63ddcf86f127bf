/**
 * An upstream that costs little: the fixed answers of the benchmarks, from several processes on one port.
 *
 *   node bench/support/static-upstream.ts --processes 2
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createBenchAnswer } from '../../test/support/upstream/bench-answer.ts'
import { answerTokens } from '../run/subjects/subject.ts'
import { serveFromProcesses } from './serve-from-processes.ts'
import { systemClock } from '../../src/system/clock.ts'

const answer = createBenchAnswer({ tokens: answerTokens, betweenMs: 0 }, systemClock)

serveFromProcesses((request, response) => void reply(request, response))

async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const isStreamed = /"stream":\s*true/.test(Buffer.concat(chunks).toString())
  if (isStreamed) await answer.stream(response, () => undefined).catch(() => undefined)
  else answer.whole(response)
}
