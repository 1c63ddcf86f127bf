/**
 * A port that was free a moment ago, for the rare test in which somebody must know an address before it is listened on. It is none of those the
 * system gives to whoever takes any (from 32768, where nobody set it otherwise): those go to the next connection of a test beside this one.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export async function freePort(): Promise<number> {
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
