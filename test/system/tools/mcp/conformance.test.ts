/**
 * The protocol's official conformance suite, at both revisions, against a gateway on loopback. The two baselines beside this file list the
 * cases that need tools, prompts and resources of the suite's own; a baseline entry that passes fails the run as well.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway, createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

/** A proxy that adds a credential, because the suite cannot send one. */
async function withCredential(t: Test, target: string, token: string): Promise<string> {
  const server = createServer((inbound, outbound) => {
    const { method, url, headers } = inbound
    const onward = request(
      new URL(url ?? '/', target),
      { method, headers: { ...headers, authorization: `Bearer ${token}` }, agent: false },
      (answer) => {
        outbound.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outbound)
      },
    )
    onward.on('error', () => outbound.destroy())
    outbound.on('close', () => onward.destroy())
    inbound.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const revision of ['2025-11-25', '2026-07-28']) {
  t.test(`revision ${revision}: fails only the cases that need the suite's own fixtures`, async (t) => {
    const gateway = await startGateway(t)
    const { token, id } = await gateway.createMember()
    const proxy = await withCredential(t, gateway.url, token)
    const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json')).replace(
      'package.json',
      'dist/index.js',
    )
    const baseline = fileURLToPath(new URL(`expected-failures-${revision}.yml`, import.meta.url))
    const folder = createTemporaryFolder(t)
    const child = spawn(
      process.execPath,
      [suite, 'server', '--url', `${proxy}/v1/mcp`, '--requirements', revision, '--expected-failures', baseline, '-o', folder],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
    )
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => (output += text))
    }
    const [code] = (await once(child, 'close')) as [number | null]
    const summary = output.slice(output.lastIndexOf('=== ')).slice(0, 6_000)
    t.equal(code, 0, 'no unexpected failure, no stale entry', { output: summary })
    t.match(output, /tools-list/, 'the suite ran')
    t.equal((await gateway.listTurns(id)).length, 0, 'no case was charged')
  })
}
