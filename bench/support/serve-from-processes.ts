/** Serves requests on one free port of loopback from so many processes (`--processes`, 1 by default); prints the address once all listen. */
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'

export function serveFromProcesses(listener: RequestListener): void {
  const { values } = parseArgs({ options: { processes: { type: 'string', default: '1' } }, allowPositionals: true })
  const count = Number(values.processes)
  const print = ({ port }: Pick<AddressInfo, 'port'>): void => void process.stdout.write(`http://127.0.0.1:${port}\n`)
  if (count === 1 || cluster.isWorker) {
    const server = createServer(listener)
    server.listen(0, '127.0.0.1', () => {
      if (cluster.isPrimary) print(server.address() as AddressInfo)
    })
    return
  }
  let listening = 0
  cluster.on('listening', (_, address) => {
    listening += 1
    if (listening === count) print(address)
  })
  for (let started = 0; started < count; started += 1) cluster.fork()
}
