/** A reconnect that meets what is left of the previous login: a check in progress, or a socket that still answers. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { MemoryEngine } from '../../../../../src/cli/workbench/engine/memory-engine.ts'
import type { WorkspaceState } from '../../../../../src/cli/workbench/engine/terminal-engine.ts'
import { EventLog } from '../../../../../src/cli/workbench/event-log.ts'
import { SshConnections } from '../../../../../src/cli/workbench/ssh/connections.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { createFolder, createTestSettings } from '../support/test-workbench.ts'

/** Panes whose program ends, and starts again, when the test says so. */
class EndingEngine extends MemoryEngine {
  exit: number | null = null
  onRespawn = (): void => undefined
  /** Resolves when the last output of a pane is read, which then waits for `release`. */
  readonly reading = Promise.withResolvers<void>()
  readonly release = Promise.withResolvers<void>()

  override async listWorkspaces(): Promise<readonly WorkspaceState[]> {
    const { exit } = this
    const workspaces = await super.listWorkspaces()
    return workspaces.map((workspace) => ({
      ...workspace,
      panes: workspace.panes.map((pane) => ({ ...pane, dead: exit !== null, exit })),
    }))
  }

  override async respawnPane(id: string): Promise<void> {
    await super.respawnPane(id)
    this.exit = null
    this.onRespawn()
  }

  override async capturePane(): Promise<string> {
    this.reading.resolve()
    await this.release.promise
    return 'Connection closed.'
  }
}

/** `ssh -O check` succeeds while the file `socket` exists, and `ssh -O stop` removes it. Files are not offered. */
function start(t: Test) {
  const dir = createFolder(t)
  const bin = join(dir, 'bin')
  const socket = join(dir, 'socket')
  mkdirSync(bin)
  const script = `case " $* " in *" -G "*) exit 0;; *" -O check "*) test -e '${socket}'; exit;; *" -O stop "*) rm '${socket}'; exit;; esac; exit 255`
  writeFileSync(join(bin, 'ssh'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const engine = new EndingEngine(newId)
  const { env, ...settings } = createTestSettings(dir)
  const states: string[] = []
  const connections = new SshConnections({
    engine,
    settings: { ...settings, env: { ...env, PATH: `${bin}:${env['PATH']}` } },
    events: new EventLog('boot', Date.now),
    newId,
    onState: ({ state }) => states.push(state),
  })
  t.teardown(() => connections.close())
  const login = (): void => writeFileSync(socket, '')
  const connect = async (): Promise<string> => {
    login()
    const { id } = await connections.connect({ destination: 'box' })
    await waitUntil(() => connections.get(id).state === 'connected', 'it is connected')
    return id
  }
  return { engine, connections, states, socket, login, connect }
}

t.test('the exit of the previous login, read late, does not end the new one', async (t) => {
  const { engine, connections, login, connect, socket } = start(t)
  const id = await connect()
  rmSync(socket)
  engine.exit = 255
  await engine.reading.promise
  await connections.reconnect(id)
  engine.release.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  t.match(connections.get(id), { state: 'connecting', exit: null, reason: null })
  login()
  await waitUntil(() => connections.get(id).state === 'connected', 'the new login is noticed')
})

t.test('a socket that still answers is not taken for the new login', async (t) => {
  const { engine, connections, states, login, connect, socket } = start(t)
  const id = await connect()
  let isNew = false
  // The previous ssh ends a moment later, the new one logs in slowly.
  engine.onRespawn = () => {
    setTimeout(() => rmSync(socket, { force: true }), 600)
    setTimeout(() => {
      isNew = true
      login()
    }, 3_500)
  }
  states.length = 0
  await connections.reconnect(id)
  await waitUntil(() => connections.get(id).state !== 'connecting', 'the login is noticed')
  t.ok(isNew, 'after it')
  await waitUntil(() => isNew, 'the login')
  t.equal(connections.get(id).state, 'connected')
  t.notOk(states.includes('closed'))
})
