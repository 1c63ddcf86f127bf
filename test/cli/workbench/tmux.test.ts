/** The tmux engine with a real tmux: what it makes, what it keeps, and what the user does meanwhile. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import type { WorkspaceState } from '../../../src/cli/workbench/engine.ts'
import type { WorkbenchEvent } from '../../../src/cli/workbench/protocol.ts'
import { TmuxEngine } from '../../../src/cli/workbench/tmux/engine.ts'
import { tmuxArguments } from '../../../src/cli/workbench/tmux/session.ts'
import { requireProgram } from '../../support/real-parts.ts'
import { startBench, until } from './support/bench.ts'
import { attachUser } from './support/user.ts'

t.test('workspaces and panes are made, listed, typed into, read and closed', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client } = await startBench(t, { engine: 'tmux' })
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
  await until('the command ran in the new pane', async () =>
    (await client.call('pane.read', { paneId: second.id })).text.includes(`in ${second.id}`),
  )
  await client.call('pane.send', { paneId: pane.id, text: 'printf "%s\\n" "one two"\n' })
  await client.call('pane.key', { paneId: pane.id, key: 'Enter' })
  // Typed before the shell is up, what it prints stands behind its first prompt.
  await until('the typed line ran', async () => /one two$/m.test((await client.call('pane.read', { paneId: pane.id })).text))
  await client.call('pane.resize', { paneId: second.id, cols: 20 })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.find((other) => other.id === second.id)?.cols, 20)

  await client.call('pane.close', { paneId: second.id })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.length, 1)
  await client.call('workspace.close', { id: workspace.id })
  t.equal((await client.call('workspace.list', {})).workspaces.length, 1)
})

t.test('a workspace keeps the number that the bar shows when another is closed', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client, settings } = await startBench(t, { engine: 'tmux' })
  const made = []
  for (const title of ['Two', 'Three', 'Four']) made.push((await client.call('workspace.create', { title, cwd: '/' })).workspace)
  await client.call('workspace.close', { id: made[0]?.id ?? '' })
  const { workspaces } = await client.call('workspace.list', {})
  const listed = workspaces.map(({ index, title }) => `${index} ${title}`)
  t.same(listed, ['1 home', '3 Three', '4 Four'])
  const [program = '', ...base] = tmuxArguments(settings.runDir)
  const bar = await promisify(execFile)(program, [...base, 'list-windows', '-F', '#I #{window_name}'], { env: settings.env })
  t.same(bar.stdout.trim().split('\n'), listed)
})

t.test('what every program ended with is known, however soon it ended', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { dir, settings } = await startBench(t)
  const { env, home, socketPath, runDir } = settings
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const engine = new TmuxEngine('tmux', { env, home, socketPath, runDir, newId })
  t.teardown(() => engine.close(true))
  const wish = { title: 'ends', cwd: dir, env: {}, argv: ['sh', '-c', 'sleep 0.03; exit 7'] }
  const exits = new Set<number>()
  // One after the other: the end of another child would bring the news of this one's.
  for (let count = 0; count < 40; count += 1) {
    const { paneId } = await engine.createWorkspace(wish)
    exits.add(
      await until('it has ended and said how', async () => {
        const panes = (await engine.list()).flatMap((workspace) => workspace.panes)
        return panes.find((pane) => pane.id === paneId)?.exit ?? false
      }),
    )
  }
  t.strictSame(exits, new Set([7]))
})

t.test('a pane and a workspace keep the id they were first seen with, whoever looks meanwhile', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { settings } = await startBench(t)
  const { env, home, socketPath, runDir } = settings
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const engine = new TmuxEngine('tmux', { env, home, socketPath, runDir, newId })
  t.teardown(() => engine.close(true))
  const idsOf = (workspaces: readonly WorkspaceState[]): string[] =>
    workspaces.flatMap(({ id, panes }) => [id, ...panes.map((pane) => pane.id)])
  const [first] = await engine.list()
  const from = first?.panes[0]?.id ?? ''

  // Ours: looked at all the time until it is made, so also between its birth and its naming.
  const looks: ReturnType<typeof engine.list>[] = []
  let looking = 0
  const splitting = engine.split({ paneId: from, direction: 'right' })
  let made: string | undefined
  do {
    made = await Promise.race([splitting, setImmediate(undefined)])
    if (looking > 3) continue
    looking += 1
    looks.push(engine.list().finally(() => (looking -= 1)))
  } while (made === undefined)
  const seen = new Set((await Promise.all(looks)).flatMap(idsOf))
  t.strictSame(idsOf(await engine.list()), [first?.id, from, made])
  t.strictSame(seen, new Set([first?.id, from, ...(seen.has(made) ? [made] : [])]), 'nobody was told of another')

  // The user's own, found by two at once.
  const [program = '', ...base] = tmuxArguments(runDir)
  await promisify(execFile)(program, [...base, 'new-window', '-d'], { env })
  const [one, two] = await Promise.all([engine.list(), engine.list()])
  t.equal(one.length, 2)
  t.strictSame(idsOf(two), idsOf(one))
  t.strictSame(idsOf(await engine.list()), idsOf(one))
})

t.test('a title comes back equal and runs nothing, whatever is in it', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client, dir } = await startBench(t, { engine: 'tmux' })
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
    // But for half characters, which have no bytes of their own.
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

t.test('a program with a tab in its name changes nothing but its own name', async (t) => {
  if (!requireProgram(t, 'tmux') || !requireProgram(t, 'bash')) return
  const { client, dir } = await startBench(t, { engine: 'tmux' })
  const { workspace, pane } = await client.call('workspace.create', { title: 'Mine', cwd: dir })
  await client.call('pane.send', { paneId: pane.id, text: `exec bash -c "exec -a $'odd\\ttaken\\tover' sleep 60"\n` })
  const odd = await until('it runs', async () => {
    const { panes } = await client.call('pane.list', { workspaceId: workspace.id })
    return panes.find(({ command }) => command.startsWith('odd'))
  })
  t.match(odd, { command: 'odd taken over', cwd: dir })
  t.match(await client.call('workspace.show', { id: workspace.id }), { workspace: { title: 'Mine', cwd: dir } })
})

t.test('ids stay when the host starts again, and the panes have run on', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startBench(t, { engine: 'tmux' })
  const { workspace, pane } = await bench.client.call('workspace.create', { title: 'Stays "so"', command: 'kept=yes' })
  const again = await bench.restart()
  const { workspaces } = await again.client.call('workspace.list', {})
  t.match(
    workspaces.find((other) => other.id === workspace.id),
    { title: 'Stays "so"' },
  )
  await again.client.call('pane.send', { paneId: pane.id, text: 'echo "still $kept"\n' })
  await until('the shell is the same one', async () =>
    (await again.client.call('pane.read', { paneId: pane.id })).text.includes('still yes'),
  )
})

t.test('each move of the focus is told with its cause, and what comes and goes is told', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startBench(t, { engine: 'tmux' })
  const { client } = bench
  const seen: WorkbenchEvent[] = []
  client.onEvent((event) => seen.push(event))
  await client.call('events.subscribe', {})
  const told = (name: string, match: (data: Readonly<Record<string, unknown>>) => boolean = () => true): Promise<unknown> =>
    until(`${name} is told`, () => seen.some((event) => event.name === name && match(event.data)))
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
  await until('the key moves the user', async () => (await user.state()) !== before)
  await told('workspace.focused')
  t.match(seen.find((event) => event.name === 'workspace.focused')?.data, { cause: { kind: 'user' } })
  user.type('\u0002c')
  await told('workspace.created')
  const made = (await client.call('workspace.list', {})).workspaces.find((other) => other.focused)
  t.match(made?.id, /^ws_/, 'what the user makes by keys has an id, too')
  await user.tmux('rename-window', '-t', '=svc:', 'named by hand')
  await until('the name given by hand is the title', async () =>
    (await client.call('workspace.list', {})).workspaces.some(
      (other) => other.id === made?.id && other.title === 'named by hand',
    ),
  )
  await client.call('workspace.rename', { id: workspace.id, title: 'renamed' })
  await told('workspace.renamed', (data) => data['title'] === 'renamed')
  await client.call('pane.close', { paneId: beside.id })
  await told('pane.closed', (data) => data['paneId'] === beside.id)
  await client.call('workspace.close', { id: workspace.id })
  await told('workspace.closed', (data) => data['workspaceId'] === workspace.id)
})

t.test('a workbench whose tmux was ended begins anew', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const bench = await startBench(t, { engine: 'tmux' })
  await bench.client.call('workspace.create', { title: 'lost' })
  const [program = '', ...base] = tmuxArguments(bench.settings.runDir)
  await promisify(execFile)(program, [...base, 'kill-server'], { env: bench.settings.env })
  await until('there is a workspace again', async () =>
    bench.client.call('workspace.list', {}).then(
      ({ workspaces }) => workspaces.length === 1 && workspaces[0]?.title === 'home',
      () => false,
    ),
  )
  t.pass('it has')
})

t.test('what has the keys is closed only with force, and a key is a key', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const { client } = await startBench(t, { engine: 'tmux' })
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
