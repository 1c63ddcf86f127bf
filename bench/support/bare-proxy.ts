/** The gateway's reference: http-proxy-3 as in its manual, with keep-alive, forwarding the same bytes. `--processes` runs several. */
import { Agent } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import { serveFromProcesses } from './serve-from-processes.ts'

const target = process.argv.at(2) ?? ''
const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true, maxSockets: 256 }) })
proxy.on('error', (_, __, response) => response.destroy())
serveFromProcesses((request, response) => proxy.web(request, response))
