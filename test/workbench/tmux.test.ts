import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requireProgram } from '../support/real-parts.ts'
import { startBench, until } from './support/bench.ts'

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
  await until('the typed line ran', async () => /^one two$/m.test((await client.call('pane.read', { paneId: pane.id })).text))
  await client.call('pane.resize', { paneId: second.id, cols: 20 })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.find((other) => other.id === second.id)?.cols, 20)

  await client.call('pane.close', { paneId: second.id })
  t.equal((await client.call('pane.list', { workspaceId: workspace.id })).panes.length, 1)
  await client.call('workspace.close', { id: workspace.id })
  t.equal((await client.call('workspace.list', {})).workspaces.length, 1)
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
  ]
  for (const title of titles) {
    const { workspace } = await client.call('workspace.create', { title })
    t.equal(workspace.title, title)
    await client.call('workspace.rename', { id: workspace.id, title: `${title}!` })
    t.equal((await client.call('workspace.show', { id: workspace.id })).workspace.title, `${title}!`)
  }
  const odd = join(dir, `#(touch ${mark.replaceAll('/', '_')})`)
  mkdirSync(odd)
  const { pane } = await client.call('workspace.create', { title: 'cwd', cwd: odd })
  t.equal(pane.cwd, odd)
  await client.call('notification.create', { title: `#(touch ${mark})`, body: `#(touch ${mark})` })
  t.notOk(existsSync(mark), 'nothing was run')
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
