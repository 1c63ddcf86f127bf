/**
 * Serves the style guide beside the site of a running gateway: `/styleguide` has every component in its states, everything else is the
 * site's own. `node test/system/pages/styleguide/main.ts` shows it.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { renderStyleguide } from './render-styleguide.ts'

interface StyleguideServer {
  readonly url: string
  close(): void
}

export async function startStyleguide(siteUrl: string, port = 0): Promise<StyleguideServer> {
  const files = new Map([
    ['/styleguide.js', { type: 'text/javascript', text: bundle('script.js') }],
    ['/styleguide.css', { type: 'text/css', text: bundle('styleguide.css') }],
  ])
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const file = files.get(path)
    if (file !== undefined) return response.writeHead(200, { 'content-type': file.type }).end(file.text)
    const answer = await fetch(`${siteUrl}${path}`, { headers: { accept: request.headers.accept ?? '*/*' } })
    const type = answer.headers.get('content-type') ?? 'application/octet-stream'
    const body = Buffer.from(await answer.arrayBuffer())
    // The site's page for unknown addresses has the frame of every page.
    if (path.split('?')[0] === '/styleguide') return response.writeHead(200, { 'content-type': type }).end(fillFrame(`${body}`))
    response.writeHead(answer.status, { 'content-type': type }).end(body)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function fillFrame(page: string): string {
  const head = '<link rel="stylesheet" href="/styleguide.css"><script type="module" src="/styleguide.js"></script></head>'
  return page
    .replace('</head>', () => head)
    .replace(/(<main [^>]*>)[^]*<\/main>/, (_, start: string) => `${start}${renderStyleguide()}</main>`)
}

function bundle(name: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
    bundle: true,
    format: 'esm',
    external: ['*.woff2'],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
