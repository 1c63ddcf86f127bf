/**
 * A port that was free a moment ago, for the rare test that must know an address before a server listens on it. It is below the range that the
 * system assigns automatically (from 32768 by default), so that no connection of a parallel test takes it.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
