/** `svc workbench …` and the commands that show all of it, while a user at the terminal must not notice. */
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findProgram } from '../../../support/require-program.ts'
import { startSvcProcess } from '../../../support/cli/run-svc.ts'
import { createFolder } from '../workbench/support/test-workbench.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import type { Case } from './support/scene.ts'
import { assertKeepsFocus } from './support/scene.ts'

const cases: Readonly<Record<string, Case>> = {
  'workbench start': async (t, scene) =>
    t.match(await scene.result(t, ['workbench', 'start']), { engine: { terminal: /^tmux/ } }),
  'workbench status': async (t, scene) => t.match(await scene.result(t, ['workbench', 'status']), { protocol: 1 }),
  'workbench doctor': async (t, scene) => {
    const { stdout } = await scene.run(['workbench', 'doctor'])
    for (const name of ['tmux', 'chromium', 'ssh', 'notify-send']) t.ok(stdout.includes(name), name)
  },
  'workbench logs': async (t, scene) => {
    t.match((await scene.run(['workbench', 'logs', '--lines', '5'])).stdout, /"method":"/)
    t.equal((await scene.run(['workbench', 'logs', '--lines', '0'])).stdout.trim(), '')
  },
  tree: async (t, scene) => t.match((await scene.run(['tree'])).stdout, /^1\* ws_\w+ {2}home/),
  identify: async (t, scene) => t.match(await scene.result(t, ['identify']), { focused: { paneId: /^pn_/ }, caller: null }),
  capabilities: async (t, scene) =>
    t.match((await scene.run(['capabilities'])).stdout, /^pane\.focus +moves +give it the focus$/m),
  rpc: async (t, scene) => {
    t.match(await scene.result(t, ['rpc', 'system.ping']), { pong: true })
    t.match(await scene.run(['rpc', 'no.such']), { code: 2 })
    t.match(await scene.run(['rpc', 'system.ping', '{']), { code: 2 })
  },
  events: async (t, scene) => {
    const { child, result } = await scene.start(['events', '--json', '--name', 'notification.created'])
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await waitUntil(async () => {
      await scene.run(['notify', '--title', 'for events', '--body', '', '--workspace', '2'])
      return text.includes('\n')
    }, 'the event is sent')
    child.kill('SIGINT')
    t.equal((await result).code, 130)
    t.match(JSON.parse(text.split('\n')[0] ?? ''), { name: 'notification.created', data: { title: 'for events' } })
  },
  'workbench stop': async (t, scene) => {
    t.match(await scene.result(t, ['workbench', 'stop']), { stopped: true })
    t.match(await scene.run(['workbench', 'status']), { code: 3 })
    t.match(await scene.run(['workspace', 'list', '--no-start']), { code: 3 })
    t.match(
      await scene.result(t, ['workspace', 'list']),
      { workspaces: [{ title: 'home' }, { title: 'Two' }] },
      'started again, the panes are there',
    )
  },
}

t.test('the workbench commands work', async (t) => {
  const scene = await assertKeepsFocus(t, ['workbench', 'tree', 'identify', 'capabilities', 'rpc', 'events', 'attach'], cases)
  if (!scene) return
  t.match(await scene.run(['attach']), { code: 2, stderr: /needs a terminal/ })
})

t.test('a service manager that ends the workbench in the foreground ends all of it', async (t) => {
  const dir = createFolder(t)
  const home = join(dir, 'home')
  mkdirSync(home)
  // Without tmux there is no other process to end. `env` starts the program.
  symlinkSync(findProgram('env') ?? '', join(home, 'env'))
  const options = { home, env: { PATH: home } }
  const { child, result } = await startSvcProcess(['workbench', 'start', '--foreground', '--socket', join(dir, 'sock')], options)
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer]
  const { pid } = JSON.parse(line.toString()) as { pid: number }
  t.teardown(() => {
    if (runs(pid)) process.kill(pid, 'SIGKILL')
  })
  child.kill('SIGTERM')
  await waitUntil(() => !runs(pid), 'the workbench has ended')
  t.match(await result, { code: 0 })
})

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
