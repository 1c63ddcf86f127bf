/** A worker for `worker-pool.test.ts`: serves nothing, has counted one turn, and dies when it gets an unhealthy reason. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MainRequests, WorkerRequests, WorkerInit } from '../../../../src/server/workers/messages.ts'
import { WorkerRpc } from '../../../../src/server/workers/worker-rpc.ts'

const { worker } = workerData as WorkerInit
if (parentPort === null) throw new Error('this file is started as a thread')
const first: WorkerRpc<MainRequests, WorkerRequests> = new WorkerRpc<MainRequests, WorkerRequests>(parentPort, {
  serve: (port) => `http://127.0.0.1:${port === 0 ? 4711 : port}`,
  reconfigure: () => null,
  close: () => null,
  ping: () => null,
  notReadyReasons: () => [`${worker} is not ready`],
  metrics: () =>
    [
      { name: 'turns', help: 'Turns.', type: 'counter', aggregator: 'sum', values: [{ value: 1, labels: {} }] },
      { name: 'running', help: 'Now.', type: 'gauge', aggregator: 'sum', values: [{ value: 1, labels: {} }] },
    ] as never,
  invalidate: (account) => first.notify('log', `${worker} forgets ${account}`),
  unhealthyReason: (which) => {
    if (which === `stall ${worker}`) for (;;);
    if (which === null || which === String(worker))
      setImmediate(() => {
        throw new Error('a fault')
      })
  },
})
