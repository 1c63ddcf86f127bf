/** `svc workspace …`, `svc pane …` and `svc notify` as command lines: the focus commands move the focus, the others do not. */
import t from 'tap'
import { waitUntil } from '../../../support/wait-until.ts'
import type { Case } from './support/scene.ts'
import { assertKeepsFocus, succeeds } from './support/scene.ts'

const cases: Readonly<Record<string, Case>> = {
  'workspace list': async (t, scene) =>
    t.match(await scene.result(t, ['workspace', 'list']), { workspaces: [{ title: 'home', focused: true }] }),
  'workspace new': async (t, scene) =>
    t.match(await scene.result(t, ['workspace', 'new', '--title', 'Built #(x)', '--env', 'A=1', '--command', 'echo "a=$A"']), {
      workspace: { title: 'Built #(x)', focused: false },
    }),
  'workspace show': succeeds('workspace', 'show', '2'),
  'workspace rename': async (t, scene) =>
    t.match(await scene.result(t, ['workspace', 'rename', '2', '--title', 'Two']), { workspace: { title: 'Two' } }),
  'workspace close': async (t, scene) => {
    const { workspace } = (await scene.result(t, ['workspace', 'new', '--title', 'gone'])) as { workspace: { id: string } }
    await scene.result(t, ['workspace', 'close', workspace.id])
    t.match(await scene.run(['workspace', 'close', '1']), { code: 1, stderr: /in front/ })
    // By its number in the list, which becomes free when a workspace closes.
    const names = ['first', 'second']
    for (const title of names) await scene.result(t, ['workspace', 'new', '--title', title])
    const listed = async () =>
      ((await scene.result(t, ['workspace', 'list'])) as { workspaces: { index: number; title: string }[] }).workspaces
    const numberOf = async (title: string) => String((await listed()).find((one) => one.title === title)?.index)
    const second = await numberOf('second')
    await scene.result(t, ['workspace', 'close', await numberOf('first')])
    t.equal(await numberOf('second'), second)
    await scene.result(t, ['workspace', 'close', second])
    t.notOk((await listed()).some(({ title }) => names.includes(title)))
  },
  'pane list': async (t, scene) => t.match(await scene.result(t, ['pane', 'list', '--all']), { panes: Array }),
  'pane split': async (t, scene) => {
    t.match(await scene.result(t, ['pane', 'split', '--direction', 'right']), { pane: { focused: false } })
    t.match(await scene.result(t, ['pane', 'split', '--direction', 'down', '--workspace', '2', '--size', '30']), {
      pane: { focused: false },
    })
    t.match(await scene.run(['pane', 'split', '--direction', 'sideways']), { code: 2 })
  },
  'pane send': async (t, scene) => {
    await scene.result(t, ['pane', 'send', '--workspace', '2', '--enter', 'echo sent-$((40+2))'])
    await scene.result(t, ['pane', 'send', '--workspace', '2', '-'], 'echo from-input-$((1+1))\n')
  },
  'pane read': async (t, scene) => {
    await waitUntil(async () => {
      const { stdout } = await scene.run(['pane', 'read', '--workspace', '2', '--lines', '50'])
      return stdout.includes('sent-42') && stdout.includes('from-input-2')
    }, 'what was sent is there')
    t.pass('both lines ran')
  },
  'pane key': succeeds('pane', 'key', '--workspace', '2', 'C-l'),
  'pane resize': succeeds('pane', 'resize', '--pane', '2', '--cols', '30'),
  'pane close': async (t, scene) => {
    const { pane } = (await scene.result(t, ['pane', 'split', '--workspace', '2'])) as { pane: { id: string } }
    await scene.result(t, ['pane', 'close', pane.id])
  },
  notify: async (t, scene) => {
    t.match(await scene.result(t, ['notify', '--title', 'T', '--body', 'B', '--sound', '--workspace', '2']), {
      delivered: [{ sink: 'record', ok: true }],
    })
    t.match(await scene.result(t, ['notify', '--title', 'T', '--body', '-', '--workspace', '2'], 'from input'), { id: String })
    t.match(await scene.run(['notify', '--title', 'T']), { code: 2 })
  },
  'notification list': async (t, scene) =>
    t.match(await scene.result(t, ['notification', 'list', '--unread']), {
      notifications: [{ body: 'B' }, { body: 'from input' }],
    }),
  'notification read': succeeds('notification', 'read', '1'),
  'notification dismiss': succeeds('notification', 'dismiss', '1'),
  'notification clear': succeeds('notification', 'clear'),
}

t.test('the workspace, pane and notification commands work', async (t) => {
  const scene = await assertKeepsFocus(t, ['workspace', 'pane', 'notify', 'notification'], cases)
  if (!scene) return
  await t.test('the focus commands move the focus', async (t) => {
    await scene.result(t, ['notification', 'clear'])
    await scene.result(t, ['notify', '--title', 'a', '--body', '', '--workspace', '2'])
    await scene.result(t, ['notify', '--title', 'b', '--body', '', '--workspace', '1'])
    for (const words of [
      ['workspace', 'focus', '2'],
      ['workspace', 'select', '1'],
      ['workspace', 'next'],
      ['workspace', 'previous'],
      ['workspace', 'last'],
      ['pane', 'focus', '--direction', 'down'],
      ['pane', 'last'],
      ['notification', 'open', '2'],
      ['notification', 'next-unread'],
    ]) {
      const noticed = await scene.user.observeDuring('', () => scene.result(t, words), '')
      t.not(noticed.after, noticed.before, `svc ${words.join(' ')}`)
    }
  })
})
