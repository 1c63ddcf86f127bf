/** A small site on loopback for the browser to visit. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

const formPage = `<!doctype html><html lang="en"><title>Form</title>
<h1>Sign up</h1>
<form>
  <label>Name <input id="name" name="name"></label>
  <label>Other <input class="twin" name="a"></label><label>Another <input class="twin" name="b"></label>
  <label>Plan <select id="plan"><option value="free">Free</option><option value="pro">Pro</option></select></label>
  <label><input id="terms" type="checkbox"> I agree</label>
  <button type="button" id="go" onclick="document.title='Clicked ' + document.getElementById('name').value">Go</button>
</form>
<p id="later" hidden>It has come</p>
<script>setTimeout(() => { document.getElementById('later').hidden = false }, 150)</script>`

export async function startSite(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (path === '/moved') return response.writeHead(302, { location: '/form' }).end()
    if (path === '/form') return response.writeHead(200, { 'content-type': 'text/html' }).end(formPage)
    if (path === '/cookie') {
      return response
        .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'seen=yes; Max-Age=3600' })
        .end(`<title>Cookie</title><p>${request.headers.cookie?.includes('seen=yes') === true ? 'known' : 'new'}`)
    }
    if (path === '/hang') return response
    if (path === '/')
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<title>Start</title><h1>Start</h1><a href="/form">Form</a>')
    return response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Missing</title><h1>Missing</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
