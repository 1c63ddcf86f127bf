/** The methods `browser.…` with a real Chromium and a small site on loopback. */
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { WorkbenchClient } from '../../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import type { TestWorkbench } from '../support/test-workbench.ts'
import { createFolder, startTestWorkbench, createTestSettings } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { startSite } from '../support/form-site.ts'

const defaults = createTestSettings(createFolder(t)).browser

interface Scene {
  readonly bench: TestWorkbench
  /** Runs in its own workspace, which is the default target. */
  readonly client: WorkbenchClient
  readonly workspaceId: string
  readonly site: string
}

let shared: Promise<TestWorkbench> | undefined

/** One workbench and one Chromium for the file, with a workspace for each test. */
async function workspaceOf(test: Test): Promise<Scene | undefined> {
  if (!requireProgram(test, 'chromium', 'google-chrome') || !requireProgram(test, 'tmux')) return undefined
  const bench = await (shared ??= startTestWorkbench(t, { engine: 'tmux' }))
  const { workspace, pane } = await bench.client.call('workspace.create', { title: test.name })
  const client = await bench.connect({ workspaceId: workspace.id, paneId: pane.id })
  test.teardown(async () => {
    const { workspaces } = await bench.client.call('workspace.list', {})
    if (workspaces.some(({ id }) => id === workspace.id)) await bench.client.call('workspace.close', { id: workspace.id })
  })
  return { bench, client, workspaceId: workspace.id, site: await startSite(test) }
}

t.test('goto returns the status and the final address', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site, workspaceId } = scene
  t.match(await client.call('browser.goto', { url: `${site}/moved` }), {
    status: 200,
    finalUrl: `${site}/form`,
    page: { title: 'Form' },
  })
  t.match(await client.call('browser.goto', { url: `${site}/nothing` }), { status: 404, page: { title: 'Missing' } })
  t.match(await client.call('browser.goto', { url: 'about:blank' }), { status: null, finalUrl: 'about:blank' })
  t.match(
    await client.call('browser.goto', { url: site.replace('http://', '') }),
    { status: 200, page: { title: 'Start' } },
    'http is meant',
  )
  t.equal((await client.call('browser.list', { workspaceId })).pages.length, 1, 'it was one page all the time')
  t.match(await client.call('browser.back', {}), { page: { url: 'about:blank' } })
  t.match(await client.call('browser.forward', {}), { page: { title: 'Start' } })
  t.match(await client.call('browser.reload', {}), { status: 200 })
})

t.test('an unreachable address fails with the reason', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site } = scene
  const closed = await findFreePort()
  await t.rejects(client.call('browser.goto', { url: `http://127.0.0.1:${closed}/` }), {
    code: 'navigation_failed',
    details: { net: 'ERR_CONNECTION_REFUSED' },
  })
  // Fails at once, whether or not Chromium's error page has loaded.
  for (let time = 0; time < 5; time += 1) {
    t.match(await client.call('browser.goto', { url: site }), { status: 200 })
    await t.rejects(client.call('browser.goto', { url: `http://127.0.0.1:${closed}/` }), { code: 'navigation_failed' })
  }
  await t.rejects(client.call('browser.goto', { url: 'http://nowhere.invalid/' }), {
    code: 'navigation_failed',
    details: { net: 'ERR_NAME_NOT_RESOLVED' },
  })
  await t.rejects(client.call('browser.goto', { url: `${site}/hang`, timeoutMs: 500 }), { code: 'timeout' })
  for (const url of ['javascript:alert(1)', 'chrome://version', 'file:///etc/passwd', 'data:text/html,x', 'http://']) {
    await t.rejects(client.call('browser.goto', { url }), { code: 'invalid_params' }, url)
  }
  const page = join(scene.bench.dir, 'page.html')
  writeFileSync(page, '<title>Of a file</title>')
  t.match(await client.call('browser.goto', { url: `file://${page}`, allowFile: true }), { page: { title: 'Of a file' } })
})

t.test('a snapshot names roles and marks elements that accept actions', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site } = scene
  await client.call('browser.goto', { url: `${site}/form` })
  const { text, truncated } = await client.call('browser.snapshot', {})
  t.notOk(truncated)
  t.match(text, /heading "Sign up" \[level=1\]/)
  t.match(text, /textbox "Name" \[ref=e\d+\]/)
  t.match(text, /button "Go" \[ref=e\d+\]/)
  t.match(await client.call('browser.snapshot', { selector: 'h1' }), { text: /Sign up/ })
  t.notMatch((await client.call('browser.snapshot', { selector: 'h1' })).text, /textbox/)
  const short = await client.call('browser.snapshot', { maxBytes: 60 })
  t.ok(short.truncated)
  t.ok(Buffer.byteLength(short.text) <= 60)
})

t.test('fill works by selector and by mark, and touches nothing if the target is ambiguous', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site } = scene
  await client.call('browser.goto', { url: `${site}/form` })
  await t.rejects(
    client.call('browser.fill', { selector: '@e1', text: 'x' }),
    { code: 'ref_stale' },
    'a mark before any snapshot',
  )
  await client.call('browser.fill', { selector: '#name', text: 'Ada' })
  t.match(await client.call('browser.get', { what: 'value', selector: '#name' }), { value: 'Ada' })

  const { text } = await client.call('browser.snapshot', {})
  const mark = /textbox "Name"[^\n]*\[ref=(e\d+)\]/.exec(text)?.[1] ?? ''
  await client.call('browser.fill', { selector: `@${mark}`, text: 'Grace' })
  t.match(await client.call('browser.get', { what: 'value', selector: '#name' }), { value: 'Grace' })

  const started = Date.now()
  await t.rejects(client.call('browser.fill', { selector: '#absent', text: 'x' }), { code: 'not_found' })
  await t.rejects(client.call('browser.fill', { selector: '.twin', text: 'x' }), { code: 'ambiguous', details: { count: 2 } })
  await t.rejects(client.call('browser.fill', { selector: '@e999', text: 'x' }), { code: 'ref_stale' })
  t.ok(Date.now() - started < 14_000, 'told at once; three waits of five seconds take longer')
  t.match(
    await client.call('browser.get', { what: 'value', selector: '[name=a]' }),
    { value: '' },
    'neither of the two was touched',
  )
  await t.rejects(client.call('browser.fill', { selector: 'h1', text: 'x' }), { code: 'element_not_editable' })
  await t.rejects(client.call('browser.fill', { selector: 'h1[', text: 'x' }), { code: 'invalid_params' })

  await client.call('browser.goto', { url: site })
  await t.rejects(
    client.call('browser.fill', { selector: `@${mark}`, text: 'x' }),
    { code: 'ref_stale' },
    'a mark of the page before',
  )
})

t.test('click, type, press, select, check, wait, get, eval and screenshot work', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site, bench } = scene
  await client.call('browser.goto', { url: `${site}/form`, wait: 'domcontentloaded' })
  await client.call('browser.wait', { text: 'It has come', timeoutMs: 5_000 })
  await client.call('browser.type', { selector: '#name', text: 'Ad' })
  await client.call('browser.press', { selector: '#name', key: 'a' })
  await client.call('browser.click', { selector: '#go' })
  t.match(await client.call('browser.get', { what: 'title' }), { value: 'Clicked Ada' })
  t.match(await client.call('browser.select', { selector: '#plan', values: ['pro'] }), { selected: ['pro'] })
  t.match(await client.call('browser.check', { selector: '#terms' }), { checked: true })
  t.match(await client.call('browser.check', { selector: '#terms', checked: false }), { checked: false })
  t.match(await client.call('browser.get', { what: 'count', selector: 'input' }), { value: '4' })
  t.match(await client.call('browser.eval', { expression: '[1, { a: location.pathname }]' }), { value: [1, { a: '/form' }] })
  for (const expression of ['10n', 'const ring = []; ring.push(ring); ring'])
    await t.rejects(
      client.call('browser.eval', { expression }),
      { code: 'invalid_params', message: /no form in JSON/ },
      expression,
    )
  await t.rejects(client.call('browser.wait', { selector: '#never', timeoutMs: 200 }), { code: 'timeout' })
  await t.rejects(client.call('browser.wait', {}), { code: 'invalid_params' })
  const { path, bytes } = await client.call('browser.screenshot', {})
  t.equal(statSync(path).size, bytes)
  t.equal((statSync(path).mode & 0o777).toString(8), '600')
  t.strictSame([...readFileSync(path).subarray(1, 4)].map((byte) => String.fromCharCode(byte)).join(''), 'PNG')
  t.ok(path.startsWith(bench.settings.stateDir))
  const pipe = join(bench.settings.stateDir, 'pipe')
  execFileSync('mkfifo', ['-m', '666', pipe])
  await t.rejects(client.call('browser.screenshot', { path: pipe }), { code: 'invalid_params', message: /is not a file/ })
  t.equal((statSync(pipe).mode & 0o777).toString(8), '666', 'and is not closed to others')
})

t.test('each workspace has its own cookies and keeps them when the page closes', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site } = scene
  const { workspace } = await client.call('workspace.create', { title: 'other' })
  const { page } = await client.call('browser.goto', { url: `${site}/cookie` })
  t.match(await client.call('browser.reload', {}).then(() => client.call('browser.get', { what: 'text' })), { value: 'known' })
  const other = await client.call('browser.goto', { url: `${site}/cookie`, workspaceId: workspace.id })
  t.not(other.page.id, page.id)
  t.match(await client.call('browser.get', { what: 'text', pageId: other.page.id }), { value: 'new' })
  await client.call('browser.close', { pageId: page.id })
  await t.rejects(client.call('browser.get', { what: 'text', pageId: page.id }), { code: 'not_found' })
  t.strictSame((await client.call('browser.list', { workspaceId: scene.workspaceId })).pages, [])
  t.match(await client.call('browser.get', { what: 'text', pageId: other.page.id }), { value: 'new' })
})

t.test('Chromium ends without a page, starts again, also after a crash, and keeps sign-ins', async (t) => {
  if (!requireProgram(t, 'chromium', 'google-chrome')) return
  const others = new Set(chromiumsOf(process.pid))
  const bench = await startTestWorkbench(t, { browser: { ...defaults, idleMs: 1 } })
  const { client } = bench
  const site = await startSite(t)
  const running = async (): Promise<string | null> => {
    const other = await bench.connect()
    other.close()
    return other.hello.engine.browser
  }
  const isKnown = async (): Promise<void> => {
    await client.call('browser.goto', { url: `${site}/cookie` })
    t.match(await client.call('browser.get', { what: 'text' }), { value: 'known' })
  }
  await client.call('browser.goto', { url: `${site}/cookie` })
  t.match(await running(), /^chromium \d+/)
  await client.call('browser.close', {})
  // While it ends: a new page waits for the next Chromium, and the ending one removes nothing of it.
  await isKnown()
  for (const pid of chromiumsOf(process.pid)) if (!others.has(pid)) process.kill(pid, 'SIGKILL')
  await waitUntil(async () => (await client.call('browser.list', {})).pages.length === 0, 'the pages are gone')
  await isKnown()
  await client.call('browser.close', {})
  await waitUntil(async () => (await running()) === null, 'Chromium has ended')
})

t.test('closing a workspace, or its last pane, closes its pages', async (t) => {
  const scene = await workspaceOf(t)
  if (!scene) return
  const { client, site } = scene
  const pages = async (workspaceId: string): Promise<number> => (await client.call('browser.list', { workspaceId })).pages.length
  const { workspace } = await client.call('workspace.create', { title: 'closing' })
  await client.call('browser.goto', { url: site, workspaceId: workspace.id })
  t.equal(await pages(workspace.id), 1)
  await client.call('workspace.close', { id: workspace.id })
  t.equal(await pages(workspace.id), 0)
  const other = await client.call('workspace.create', { title: 'closing' })
  await client.call('browser.open', { workspaceId: other.workspace.id })
  await client.call('pane.close', { paneId: other.pane.id })
  await waitUntil(async () => (await pages(other.workspace.id)) === 0, 'the page is gone')
})

t.test('closes a page with an endless script, which does not delay the stop of the workbench', async (t) => {
  if (!requireProgram(t, 'chromium', 'google-chrome')) return
  const bench = await startTestWorkbench(t, { browser: { ...defaults, answerMs: 200 } })
  const { client } = bench
  const site = await startSite(t)
  const hang = async (): Promise<string> => {
    const { page } = await client.call('browser.open', {})
    await client.call('browser.goto', { url: site, pageId: page.id })
    await client.call('browser.eval', { expression: 'localStorage.kept = 1; setTimeout(() => { for (;;) {} })', pageId: page.id })
    return page.id
  }
  await client.call('browser.close', { pageId: await hang() }, 15_000)
  t.strictSame((await client.call('browser.list', {})).pages, [])
  await hang()
  t.match(await client.call('app.shutdown', {}), { ok: true })
  await waitUntil(() => bench.host.ended.then(() => true), 'the host has ended')
})

t.test("Chromium's sandbox is on for an ordinary user, and its environment holds no keys", async (t) => {
  const chromium = requireProgram(t, 'chromium', 'google-chrome')
  if (chromium === undefined) return
  const root = process.getuid?.() === 0
  const dir = createFolder(t)
  chmodSync(dir, 0o755)
  const argsFile = join(dir, 'args')
  const envFile = join(dir, 'env')
  const wrapper = join(dir, 'chromium-as-user')
  // Chromium has no sandbox as root, so it runs as an ordinary user with a profile that this user can write.
  const become = root ? 'setpriv --reuid=65534 --regid=65534 --clear-groups ' : ''
  writeFileSync(
    wrapper,
    `#!/bin/sh
printf '%s\\n' "$@" > ${argsFile}
env > ${envFile}
for word in "$@"; do case "$word" in --user-data-dir=*) profile=\${word#--user-data-dir=};; esac; done
${root ? 'chown -R 65534:65534 "$profile"' : ''}
HOME=$profile exec ${become}${chromium} "$@"
`,
  )
  chmodSync(wrapper, 0o755)
  const { env } = createTestSettings(dir)
  const bench = await startTestWorkbench(
    t,
    {
      browser: { ...defaults, executable: wrapper, sandbox: true },
      env: { ...env, SVC_API_KEY: 'hush', OPENAI_API_KEY: 'hush', DISPLAY: ':99' },
    },
    dir,
  )
  const site = await startSite(t)
  const others = new Set(chromiumsOf(process.pid))
  const outcome = await bench.client.call('browser.goto', { url: site }).catch((error: unknown) => error)
  const args = readFileSync(argsFile, 'utf8')
  t.notMatch(args, /--no-sandbox/)
  t.match(args, /--headless/)
  t.notMatch(readFileSync(envFile, 'utf8'), /hush|DISPLAY/)
  if (outcome instanceof Error) {
    // Where the system forbids sandboxes to ordinary users, the failure reports that and nothing runs without one.
    t.match(outcome, { code: 'engine_unavailable', message: /sandbox/ })
    return
  }
  t.match(outcome, { status: 200 })
  const own = chromiumsOf(process.pid).filter((pid) => !others.has(pid))
  const all = own.map((pid) => commandLineNow(pid)).join('\n')
  t.match(all, /--type=renderer/)
  t.notMatch(all, /--no-sandbox/)
})

t.test('without a browser the failure shows how to install one', async (t) => {
  const dir = createFolder(t)
  const { client } = await startTestWorkbench(
    t,
    { browser: { ...defaults, executable: join(dir, 'no-such-browser'), sandbox: true } },
    dir,
  )
  await t.rejects(client.call('browser.goto', { url: 'about:blank' }), {
    code: 'engine_unavailable',
    hints: [/apt install chromium/],
  })
})

/** The browser processes below a process, including grandchildren. */
function chromiumsOf(parent: number): readonly number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      continue // it has ended meanwhile
    }
  }
  const below = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at)) if (at === parent) return true
    return false
  }
  return [...parents.keys()].filter((pid) => below(pid) && /chrom/.test(commandLineNow(pid)))
}

function commandLineNow(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
