/**
 * Proves for every method of the protocol that only focus methods move the focus, with a real tmux, a real
 * terminal, a real browser and a real ssh server. Each focus method is observed to move it, so the observation works.
 */
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import t from 'tap'
import type { WorkbenchClient } from '../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import type { FocusMethod, QuietMethod } from '../../../../src/cli/workbench/protocol/methods.ts'
import { methodNames } from '../../../../src/cli/workbench/protocol/methods.ts'
import { protocolRange } from '../../../../src/cli/workbench/protocol/protocol.ts'
import { focusMethods, isFocusMethod } from '../../../../src/cli/workbench/protocol/methods.ts'
import { requireProgram } from '../../../support/require-program.ts'
import { startSshd } from '../../../support/servers/sshd.ts'
import type { TestWorkbench } from './support/test-workbench.ts'
import { createFolder, startTestWorkbench, createTestSettings } from './support/test-workbench.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { startSite } from './support/form-site.ts'
import type { User } from './support/user.ts'
import { attachUser } from './support/user.ts'

interface Scene {
  readonly bench: TestWorkbench
  readonly client: WorkbenchClient
  readonly user: User
  readonly site: string
  readonly dir: string
  /** A workspace in the background with two panes. */
  readonly workspaceId: string
  readonly paneId: string
  /** The other pane of the focused workspace. */
  readonly besideId: string
  readonly pageId: string
  readonly sshId: string
}

/** Calls one method with the parameters most likely to move the focus. */
type Case = (scene: Scene) => Promise<unknown>

const form = async ({ client, pageId, site }: Scene): Promise<void> => {
  await client.call('browser.goto', { url: `${site}/form`, pageId })
}

/** Typed by the method table: a method without a case does not compile. */
const quiet = {
  'system.ping': ({ client }) => client.call('system.ping', {}),
  'system.hello': ({ bench, client }) =>
    client.call('system.hello', { protocol: protocolRange, token: bench.token, client: { name: 'again', version: '1' } }),
  'system.identify': ({ client }) => client.call('system.identify', {}),
  'system.capabilities': ({ client }) => client.call('system.capabilities', {}),
  'system.tree': ({ client }) => client.call('system.tree', {}),
  'system.doctor': ({ client }) => client.call('system.doctor', {}),
  'workspace.list': ({ client }) => client.call('workspace.list', {}),
  'workspace.create': ({ client }) => client.call('workspace.create', { title: 'new', command: 'echo hello', env: { A: '1' } }),
  'workspace.rename': ({ client, workspaceId }) => client.call('workspace.rename', { id: workspaceId, title: 'renamed' }),
  'workspace.close': async ({ client }) => {
    const { workspace } = await client.call('workspace.create', { title: 'to close' })
    await client.call('workspace.close', { id: workspace.id })
  },
  'workspace.show': ({ client }) => client.call('workspace.show', {}),
  'pane.list': ({ client }) => client.call('pane.list', { all: true }),
  // In the focused workspace, beside the focused pane.
  'pane.split': async ({ client, besideId }) => {
    const { pane } = await client.call('pane.split', { paneId: besideId, direction: 'down' })
    await client.call('pane.split', { direction: 'left' })
    await client.call('pane.close', { paneId: pane.id })
  },
  'pane.close': async ({ client, besideId }) => {
    const { pane } = await client.call('pane.split', { paneId: besideId, direction: 'up' })
    await client.call('pane.close', { paneId: pane.id })
  },
  'pane.resize': ({ client, besideId }) => client.call('pane.resize', { paneId: besideId, cols: 30 }),
  'pane.send': ({ client, besideId }) => client.call('pane.send', { paneId: besideId, text: 'echo typed\n' }),
  'pane.key': ({ client, besideId }) => client.call('pane.key', { paneId: besideId, key: 'C-c' }),
  'pane.read': ({ client, paneId }) => client.call('pane.read', { paneId, lines: 10 }),
  'notification.create': ({ client, paneId }) =>
    client.call('notification.create', { title: 'Look', body: 'here', sound: true, paneId }),
  'notification.list': ({ client }) => client.call('notification.list', {}),
  'notification.read': async ({ client, workspaceId }) => {
    const { id } = await client.call('notification.create', { title: 'Look', body: 'here', workspaceId })
    await client.call('notification.read', { id })
  },
  'notification.dismiss': async ({ client, workspaceId }) => {
    const { id } = await client.call('notification.create', { title: 'Look', body: 'here', workspaceId })
    await client.call('notification.dismiss', { id })
  },
  'notification.clear': ({ client }) => client.call('notification.clear', {}),
  'browser.open': ({ client, workspaceId }) => client.call('browser.open', { workspaceId }),
  'browser.close': async ({ client, workspaceId }) => {
    const { page } = await client.call('browser.open', { workspaceId })
    await client.call('browser.close', { pageId: page.id })
  },
  'browser.list': ({ client }) => client.call('browser.list', {}),
  'browser.goto': ({ client, site }) => client.call('browser.goto', { url: site }),
  'browser.back': async (scene) => {
    await form(scene)
    await scene.client.call('browser.goto', { url: scene.site, pageId: scene.pageId })
    await scene.client.call('browser.back', { pageId: scene.pageId })
  },
  'browser.forward': ({ client, pageId }) => client.call('browser.forward', { pageId }),
  'browser.reload': ({ client, pageId }) => client.call('browser.reload', { pageId }),
  'browser.snapshot': ({ client, pageId }) => client.call('browser.snapshot', { pageId }),
  'browser.fill': async (scene) => {
    await form(scene)
    await scene.client.call('browser.fill', { pageId: scene.pageId, selector: '#name', text: 'Ada' })
  },
  'browser.click': ({ client, pageId }) => client.call('browser.click', { pageId, selector: '#go' }),
  'browser.type': ({ client, pageId }) => client.call('browser.type', { pageId, selector: '#name', text: 'x' }),
  'browser.press': ({ client, pageId }) => client.call('browser.press', { pageId, key: 'Tab' }),
  'browser.select': ({ client, pageId }) => client.call('browser.select', { pageId, selector: '#plan', values: ['pro'] }),
  'browser.check': ({ client, pageId }) => client.call('browser.check', { pageId, selector: '#terms' }),
  'browser.wait': ({ client, pageId }) => client.call('browser.wait', { pageId, selector: '#later' }),
  'browser.get': ({ client, pageId }) => client.call('browser.get', { pageId, what: 'title' }),
  'browser.eval': ({ client, pageId }) =>
    client.call('browser.eval', { pageId, expression: 'window.focus(), window.open("about:blank"), 1' }),
  'browser.screenshot': ({ client, pageId }) => client.call('browser.screenshot', { pageId }),
  'ssh.connect': ({ client }) => client.call('ssh.connect', { destination: 'box' }),
  'ssh.list': ({ client }) => client.call('ssh.list', {}),
  'ssh.status': ({ client, sshId }) => client.call('ssh.status', { sshId }),
  'files.list': ({ client, sshId, dir }) => client.call('files.list', { sshId, path: dir }),
  'files.write': ({ client, sshId, dir }) => client.call('files.write', { sshId, path: join(dir, 'w'), offset: 0, data: 'aGk=' }),
  'files.stat': ({ client, sshId, dir }) => client.call('files.stat', { sshId, path: join(dir, 'w') }),
  'files.read': ({ client, sshId, dir }) => client.call('files.read', { sshId, path: join(dir, 'w'), offset: 0 }),
  'files.mkdir': ({ client, sshId, dir }) => client.call('files.mkdir', { sshId, path: join(dir, 'folder') }),
  'files.rename': ({ client, sshId, dir }) => client.call('files.rename', { sshId, path: join(dir, 'w'), to: join(dir, 'v') }),
  'files.remove': ({ client, sshId, dir }) => client.call('files.remove', { sshId, path: join(dir, 'v') }),
  'files.realpath': ({ client, sshId }) => client.call('files.realpath', { sshId, path: '.' }),
  'files.open': ({ client, sshId }) => client.call('files.open', { sshId }),
  'ssh.reconnect': async ({ client, sshId }) => {
    await client.call('ssh.reconnect', { sshId })
    await connected(client, sshId)
  },
  'ssh.disconnect': ({ client, sshId }) => client.call('ssh.disconnect', { sshId }),
  'events.subscribe': ({ client }) => client.call('events.subscribe', {}),
  'events.unsubscribe': async ({ client }) => {
    const { subscriptionId } = await client.call('events.subscribe', {})
    await client.call('events.unsubscribe', { subscriptionId })
  },
  'app.shutdown': ({ client }) => client.call('app.shutdown', {}),
} as const satisfies Record<QuietMethod, Case>

const moving = {
  'workspace.focus': ({ client, workspaceId }) => client.call('workspace.focus', { id: workspaceId }),
  'workspace.next': ({ client }) => client.call('workspace.next', {}),
  'workspace.previous': ({ client }) => client.call('workspace.previous', {}),
  'workspace.last': ({ client }) => client.call('workspace.last', {}),
  'pane.focus': ({ client, besideId }) => client.call('pane.focus', { paneId: besideId }),
  'pane.last': ({ client }) => client.call('pane.last', {}),
  'notification.open': async ({ client, workspaceId }) => {
    const { id } = await client.call('notification.create', { title: 'Look', body: 'here', workspaceId })
    await client.call('notification.open', { id })
  },
  'notification.nextUnread': async ({ client, workspaceId }) => {
    await client.call('notification.create', { title: 'Look', body: 'here', workspaceId })
    await client.call('notification.nextUnread', {})
  },
  'browser.focus': ({ client, pageId }) => client.call('browser.focus', { pageId }),
} as const satisfies Record<FocusMethod, Case>

const quietMethods = methodNames.filter((method): method is QuietMethod => !isFocusMethod(method))
const terminalMethods = quietMethods.filter((method) => /^(?:system|workspace|pane|notification)\./.test(method))

t.test('only focus methods move the focus, and each of them does', async (t) => {
  if (!requireProgram(t, 'tmux') || !requireProgram(t, 'chromium', 'google-chrome') || !requireProgram(t, '/usr/sbin/sshd'))
    return
  const scene = await prepare(t)
  const { user, bench } = scene

  await t.test('while the user types in the focused pane', async (t) => {
    for (const method of quietMethods) {
      if (method === 'app.shutdown') continue
      await alone(t, method, scene, '<', '>')
    }
  })

  await t.test('while the focused pane is zoomed', async (t) => {
    await user.tmux('resize-pane', '-Z', '-t', '=svc:')
    t.match(await user.state(), 'zoom=1')
    for (const method of terminalMethods) await alone(t, method, scene, '<', '>')
    await user.tmux('resize-pane', '-Z', '-t', '=svc:')
  })

  await t.test('while the user scrolls through the history of the focused pane', async (t) => {
    await user.tmux('copy-mode', '-t', '=svc:')
    t.match(await user.state(), 'mode=1')
    for (const method of terminalMethods) await alone(t, method, scene, '', '')
    t.match(await user.state(), 'mode=1')
    await user.tmux('send-keys', '-t', '=svc:', '-X', 'cancel')
  })

  await t.test('each signal detects the move of every focus method', async (t) => {
    for (const method of focusMethods) {
      // Starts at the recorder's pane, with another pane and another workspace as the previous ones.
      await bringBack(scene)
      const noticed = await user.observeDuring('<', () => moving[method](scene), '')
      t.not(noticed.after, noticed.before, `${method}: another pane is in front`)
      t.ok(
        noticed.notices.some((notice) => /^%(?:session-window|window-pane)-changed/.test(notice)),
        `${method}: tmux announced it`,
      )
      await waitUntil(() => noticed.receivedByNow().includes('\u001b[O'), `${method}: the program in the pane was told`)
      t.pass(`${method}: the program in the pane was told`)
    }
  })

  t.equal(bench.log.filter((entry) => 'focusViolation' in entry).length, 0, 'the guard had nothing to repair')

  await t.test('while the workbench stops', async (t) => {
    await bringBack(scene)
    await alone(t, 'app.shutdown', scene, '<', '>')
  })
})

/** Calls one method while the user types, and fails for every effect that the user would notice. */
async function alone(t: Test, method: QuietMethod, scene: Scene, first: string, last: string): Promise<void> {
  const noticed = await scene.user.observeDuring(first, () => quiet[method](scene), last)
  t.strictSame(
    { notices: noticed.notices, received: noticed.received, state: noticed.after },
    { notices: [], received: first + last, state: noticed.before },
    `${method} changes nothing that the user sees`,
  )
}

async function prepare(t: Test): Promise<Scene> {
  const dir = createFolder(t)
  const sshd = await startSshd(t, dir)
  const site = await startSite(t)
  const { env } = createTestSettings(dir)
  writeFileSync(join(dir, 'w'), 'hi')
  const bench = await startTestWorkbench(t, { engine: 'tmux', env: { ...env, PATH: `${sshd.bin}:${env['PATH']}` } }, dir)
  const { client } = bench
  const user = await attachUser(t, bench)
  const { pane: beside } = await client.call('pane.split', { direction: 'right' })
  const { workspace, pane } = await client.call('workspace.create', { title: 'behind' })
  await client.call('pane.split', { paneId: pane.id, direction: 'right' })
  const { page } = await client.call('browser.open', { workspaceId: workspace.id })
  const { ssh } = await client.call('ssh.connect', { destination: sshd.alias })
  await connected(client, ssh.id)
  await user.record()
  return {
    bench,
    client,
    user,
    site,
    dir,
    workspaceId: workspace.id,
    paneId: pane.id,
    besideId: beside.id,
    pageId: page.id,
    sshId: ssh.id,
  }
}

async function connected(client: WorkbenchClient, sshId: string): Promise<void> {
  await waitUntil(async () => (await client.call('ssh.status', { sshId })).ssh.explorer !== null, 'ssh is connected')
}

/** Focuses the recorder's pane again after another one, so that "last" has a target. */
async function bringBack({ client, besideId, workspaceId, user }: Scene): Promise<void> {
  const { workspaces } = await client.call('workspace.list', {})
  const home = workspaces.find((workspace) => workspace.title === 'home')
  const { panes } = await client.call('pane.list', { workspaceId: home?.id ?? '' })
  const recorder = panes.find((pane) => pane.command === 'cat')
  await client.call('workspace.focus', { id: workspaceId })
  await client.call('pane.focus', { paneId: besideId })
  await client.call('pane.focus', { paneId: recorder?.id ?? '' })
  await user.observeDuring('.', async () => undefined, '')
}
