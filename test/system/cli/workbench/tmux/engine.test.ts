/** The tmux engine with a real tmux: what it creates and keeps, and concurrent actions of the user. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import type { WorkspaceState } from '../../../../../src/cli/workbench/engine/terminal-engine.ts'
import type { WorkbenchEvent } from '../../../../../src/cli/workbench/protocol/protocol.ts'
import { TmuxEngine } from '../../../../../src/cli/workbench/tmux/engine.ts'
import { getTmuxCommand } from '../../../../../src/cli/workbench/tmux/session.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import { startTestWorkbench } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { attachUser } from '../support/user.ts'

t.test('creates, lists, types into, reads and closes workspaces and panes', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client } = await startTestWorkbench(t, { engine: 'tmux' })
  t.match(await client.call('workspace.list', {}), {
    workspaces: [{ title: 'home', focused: true, paneCount: 1, kind: 'local' }],
  })

  const { workspace, pane } = await client.call('workspace.create', { title: 'Build', cwd: '/' })
  t.match(workspace, { title: 'Build', index: 2, focused: false, cwd: '/' })
  const { pane: second } = await client.call('pane.split', {
    paneId: pane.id,
    direction: 'right',
    command: 'echo "in $SVC_PANE_ID"',
  })
  t.equal(second.workspaceId, workspace.id)
  await waitUntil(
    async () => (await client.call('pane.read', { paneId: second.id })).text.includes(`in ${second.id}`),
    'the command ran in the new pane',
  )
  await client.call('pane.send', { paneId: pane.id, text: 'printf "%s\\n" "one two"\n' })
  await client.call('pane.key', { paneId: pane.id, key: 'Enter' })
  // Typed before the shell has started, so its output follows the first prompt.
  await waitUntil(async () => /one two$/m.test((await client.call('pane.read', { paneId: pane.id })).text), 'the typed line ran')
  await client.call('pane.resize', { paneId: second.id, cols: 20 })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.find((other) => other.id === second.id)?.cols, 20)

  await client.call('pane.close', { paneId: second.id })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.length, 1)
  await client.call('workspace.close', { id: workspace.id })
  t.equal((await client.call('workspace.list', {})).workspaces.length, 1)
})

t.test('a workspace keeps its number in the status bar when another one closes', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client, settings } = await startTestWorkbench(t, { engine: 'tmux' })
  const made = []
  for (const title of ['Two', 'Three', 'Four']) made.push((await client.call('workspace.create', { title, cwd: '/' })).workspace)
  await client.call('workspace.close', { id: made[0]?.id ?? '' })
  const { workspaces } = await client.call('workspace.list', {})
  const listed = workspaces.map(({ index, title }) => `${index} ${title}`)
  t.same(listed, ['1 home', '3 Three', '4 Four'])
  const [program = '', ...base] = getTmuxCommand(settings.runDir)
  const bar = await promisify(execFile)(program, [...base, 'list-windows', '-F', '#I #{window_name}'], { env: settings.env })
  t.same(bar.stdout.trim().split('\n'), listed)
})

t.test('reports every program’s exit code, however soon it ended', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { dir, settings } = await startTestWorkbench(t)
  const { env, home, socketPath, runDir } = settings
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const engine = new TmuxEngine('tmux', { env, home, socketPath, runDir, newId })
  t.teardown(() => engine.close(true))
  const wish = { title: 'ends', cwd: dir, env: {}, argv: ['sh', '-c', 'sleep 0.03; exit 7'] }
  const exits = new Set<number>()
  // One after the other, because the end of another child would deliver the missing signal.
  for (let count = 0; count < 40; count += 1) {
    const { paneId } = await engine.createWorkspace(wish)
    exits.add(
      await waitUntil(async () => {
        const panes = (await engine.listWorkspaces()).flatMap((workspace) => workspace.panes)
        return panes.find((pane) => pane.id === paneId)?.exit ?? false
      }, 'it has ended and said how'),
    )
  }
  t.strictSame(exits, new Set([7]))
})

t.test('a pane and a workspace keep their first id during concurrent listings', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { settings } = await startTestWorkbench(t)
  const { env, home, socketPath, runDir } = settings
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const engine = new TmuxEngine('tmux', { env, home, socketPath, runDir, newId })
  t.teardown(() => engine.close(true))
  const idsOf = (workspaces: readonly WorkspaceState[]): string[] =>
    workspaces.flatMap(({ id, panes }) => [id, ...panes.map((pane) => pane.id)])
  const [first] = await engine.listWorkspaces()
  const from = first?.panes[0]?.id ?? ''

  // Created by the engine and listed continuously, also between its creation and its naming.
  const looks: ReturnType<typeof engine.listWorkspaces>[] = []
  let looking = 0
  const splitting = engine.splitPane({ paneId: from, direction: 'right' })
  let made: string | undefined
  do {
    made = await Promise.race([splitting, setImmediate(undefined)])
    if (looking > 3) continue
    looking += 1
    looks.push(engine.listWorkspaces().finally(() => (looking -= 1)))
  } while (made === undefined)
  const seen = new Set((await Promise.all(looks)).flatMap(idsOf))
  t.strictSame(idsOf(await engine.listWorkspaces()), [first?.id, from, made])
  t.strictSame(seen, new Set([first?.id, from, ...(seen.has(made) ? [made] : [])]), 'nobody was told of another')

  // Created by the user and found by two listings at once.
  const [program = '', ...base] = getTmuxCommand(runDir)
  await promisify(execFile)(program, [...base, 'new-window', '-d'], { env })
  const [one, two] = await Promise.all([engine.listWorkspaces(), engine.listWorkspaces()])
  t.equal(one.length, 2)
  t.strictSame(idsOf(two), idsOf(one))
  t.strictSame(idsOf(await engine.listWorkspaces()), idsOf(one))
})

t.test('stores any title unchanged and executes nothing in it', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client, dir } = await startTestWorkbench(t, { engine: 'tmux' })
  const mark = join(dir, 'ran')
  const titles = [
    `#(touch ${mark})`,
    '#{pid} #S #[fg=red] ##',
    'a "quoted" and \'single\' $HOME `id` \\ backslash',
    'first line\nsecond\tline',
    '😀 汉字 e\u0301 %H:%M',
    '; kill-server ;',
    '-x',
    '%end 1 1 1',
    '',
    'half \ud800 a pair',
  ]
  for (const title of titles) {
    const { workspace } = await client.call('workspace.create', { title })
    // Except unpaired surrogates, which have no UTF-8 form.
    t.equal(workspace.title, title.toWellFormed())
    await client.call('workspace.rename', { id: workspace.id, title: `${title}!` })
    t.equal((await client.call('workspace.show', { id: workspace.id })).workspace.title, `${title.toWellFormed()}!`)
  }
  const odd = join(dir, `#(touch ${mark.replaceAll('/', '_')})`)
  mkdirSync(odd)
  const { pane } = await client.call('workspace.create', { title: 'cwd', cwd: odd })
  t.equal(pane.cwd, odd)
  await client.call('notification.create', { title: `#(touch ${mark})`, body: `#(touch ${mark})` })
  t.notOk(existsSync(mark), 'nothing was run')
})

t.test('a program name with a tab changes no other field', async (t) => {
  if (!requireProgram(t, 'tmux') || !requireProgram(t, 'bash')) return
  const { client, dir } = await startTestWorkbench(t, { engine: 'tmux' })
  const { workspace, pane } = await client.call('workspace.create', { title: 'Mine', cwd: dir })
  await client.call('pane.send', { paneId: pane.id, text: `exec bash -c "exec -a $'odd\\ttaken\\tover' sleep 60"\n` })
  const odd = await waitUntil(async () => {
    const { panes } = await client.call('pane.list', { workspaceId: workspace.id })
    return panes.find(({ command }) => command.startsWith('odd'))
  }, 'it runs')
  t.match(odd, { command: 'odd taken over', cwd: dir })
  t.match(await client.call('workspace.show', { id: workspace.id }), { workspace: { title: 'Mine', cwd: dir } })
})

t.test('a restarted host finds the ids, and the panes have continued to run', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startTestWorkbench(t, { engine: 'tmux' })
  const { workspace, pane } = await bench.client.call('workspace.create', { title: 'Stays "so"', command: 'kept=yes' })
  const again = await bench.restart()
  const { workspaces } = await again.client.call('workspace.list', {})
  t.match(
    workspaces.find((other) => other.id === workspace.id),
    { title: 'Stays "so"' },
  )
  await again.client.call('pane.send', { paneId: pane.id, text: 'echo "still $kept"\n' })
  await waitUntil(
    async () => (await again.client.call('pane.read', { paneId: pane.id })).text.includes('still yes'),
    'the shell is the same one',
  )
})

t.test('reports each focus move with its cause, and each creation and closing', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startTestWorkbench(t, { engine: 'tmux' })
  const { client } = bench
  const seen: WorkbenchEvent[] = []
  client.onEvent((event) => seen.push(event))
  await client.call('events.subscribe', {})
  const told = (name: string, match: (data: Readonly<Record<string, unknown>>) => boolean = () => true): Promise<unknown> =>
    waitUntil(() => seen.some((event) => event.name === name && match(event.data)), `${name} is told`)
  const { workspace, pane } = await client.call('workspace.create', { title: 'second' })
  await told('workspace.created', (data) => data['workspaceId'] === workspace.id)
  const { pane: beside } = await client.call('pane.split', { paneId: pane.id, direction: 'right' })
  await told('pane.created', (data) => data['paneId'] === beside.id)
  t.notOk(
    seen.some((event) => event.name.endsWith('.focused')),
    'making things moved nothing',
  )
  await client.call('workspace.focus', { id: workspace.id })
  await told('workspace.focused', (data) => data['workspaceId'] === workspace.id)
  t.match(seen.findLast((event) => event.name === 'workspace.focused')?.data, {
    cause: { kind: 'method', method: 'workspace.focus' },
  })

  // The user, with a key of tmux.
  const user = await attachUser(t, bench)
  seen.length = 0
  const before = await user.state()
  user.type('\u0002p')
  await waitUntil(async () => (await user.state()) !== before, 'the key moves the user')
  await told('workspace.focused')
  t.match(seen.find((event) => event.name === 'workspace.focused')?.data, { cause: { kind: 'user' } })
  user.type('\u0002c')
  await told('workspace.created')
  const made = (await client.call('workspace.list', {})).workspaces.find((other) => other.focused)
  t.match(made?.id, /^ws_/, 'what the user makes by keys has an id, too')
  await user.tmux('rename-window', '-t', '=svc:', 'named by hand')
  await waitUntil(
    async () =>
      (await client.call('workspace.list', {})).workspaces.some(
        (other) => other.id === made?.id && other.title === 'named by hand',
      ),
    'the name given by hand is the title',
  )
  await client.call('workspace.rename', { id: workspace.id, title: 'renamed' })
  await told('workspace.renamed', (data) => data['title'] === 'renamed')
  await client.call('pane.close', { paneId: beside.id })
  await told('pane.closed', (data) => data['paneId'] === beside.id)
  await client.call('workspace.close', { id: workspace.id })
  await told('workspace.closed', (data) => data['workspaceId'] === workspace.id)
})

t.test('a workbench whose tmux was ended starts a new one', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startTestWorkbench(t, { engine: 'tmux' })
  await bench.client.call('workspace.create', { title: 'lost' })
  const [program = '', ...base] = getTmuxCommand(bench.settings.runDir)
  await promisify(execFile)(program, [...base, 'kill-server'], { env: bench.settings.env })
  await waitUntil(
    async () =>
      bench.client.call('workspace.list', {}).then(
        ({ workspaces }) => workspaces.length === 1 && workspaces[0]?.title === 'home',
        () => false,
      ),
    'there is a workspace again',
  )
  t.pass('it has')
})

t.test('closes a focused pane only with force, and sends only valid keys', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client } = await startTestWorkbench(t, { engine: 'tmux' })
  const { focused } = await client.call('system.identify', {})
  const paneId = focused.paneId ?? ''
  await t.rejects(client.call('pane.close', { paneId }), { code: 'focus_conflict' })
  await t.rejects(client.call('workspace.close', { id: focused.workspaceId ?? '' }), { code: 'focus_conflict' })
  for (const key of ['rm -rf', 'Entr', '', 'C-', '$(id)'])
    await t.rejects(client.call('pane.key', { paneId, key }), { code: 'invalid_params' }, key)
  for (const key of ['Enter', 'C-c', 'M-x', 'F5', 'C-M-Left', ';', '#', '$']) await client.call('pane.key', { paneId, key })
  await client.call('workspace.create', { title: 'next' })
  await client.call('workspace.close', { id: focused.workspaceId ?? '', force: true })
  t.match(await client.call('workspace.list', {}), { workspaces: [{ title: 'next', focused: true }] })
})
