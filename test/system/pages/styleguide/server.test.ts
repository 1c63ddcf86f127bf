/** The style guide of the checkout, as its program shows it. */
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startStyleguide } from './server.ts'

t.test('the style guide stands in the frame of a page, with the files that it needs, and not in the site itself', async (t) => {
  const gateway = await startGateway(t)
  const styleguide = await startStyleguide(gateway.url)
  t.teardown(() => styleguide.close())
  const read = async (path: string) => {
    const response = await fetch(`${styleguide.url}${path}`, { headers: { accept: 'text/html' } })
    return { status: response.status, text: await response.text() }
  }
  const { status, text } = await read('/styleguide?theme=dark')
  t.equal(status, 200)
  t.match(text, /<main [^>]*><div class="shell dashboard styleguide">\s*<h1>Style guide<\/h1>/)
  t.match(text, '<footer')
  const files = [...text.matchAll(/(?:href|src)="(\/(?:assets\/|styleguide\.)[^"]+)"/g)].map(([, path = '']) => path)
  t.ok(files.length > 3)
  for (const path of files) t.equal((await read(path)).status, 200, path)
  t.equal((await fetch(`${gateway.url}/styleguide`, { headers: { accept: 'text/html' } })).status, 404)
})
