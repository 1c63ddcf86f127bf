/** The gateway's reference: http-proxy-3 as in its manual, with keep-alive, forwarding the same bytes. */
import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'

const [target = ''] = process.argv.slice(2)
const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true, maxSockets: 256 }) })
proxy.on('error', (_, __, response) => response.destroy())
const server = createServer((request, response) => proxy.web(request, response))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}\n`)
})
