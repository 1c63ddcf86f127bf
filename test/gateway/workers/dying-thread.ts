/** A worker for `pool.test.ts`: serves in name alone, has counted one turn, and dies when it is told that something stands in the way. */
import { parentPort, workerData } from 'node:worker_threads'
import type { FromFirst, FromWorker, WorkerStart } from '../../../src/gateway/workers/messages.ts'
import { Wire } from '../../../src/gateway/workers/wire.ts'

const { worker } = workerData as WorkerStart
if (parentPort === null) throw new Error('this file is started as a thread')
const first: Wire<FromFirst, FromWorker> = new Wire<FromFirst, FromWorker>(parentPort, {
  serve: (port) => `http://127.0.0.1:${port === 0 ? 4711 : port}`,
  close: () => null,
  reasons: () => [`${worker} is asked`],
  metrics: () =>
    [
      { name: 'turns', help: 'Turns.', type: 'counter', aggregator: 'sum', values: [{ value: 1, labels: {} }] },
      { name: 'running', help: 'Now.', type: 'gauge', aggregator: 'sum', values: [{ value: 1, labels: {} }] },
    ] as never,
  forget: (account) => first.tell('log', `${worker} forgets ${account}`),
  trouble: (which) => {
    if (which === null || which === String(worker))
      setImmediate(() => {
        throw new Error('a fault')
      })
  },
})
