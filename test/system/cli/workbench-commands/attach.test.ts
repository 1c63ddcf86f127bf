/** `svc attach` in a real terminal, with a real workbench behind it. */
import t from 'tap'
import { runSvc } from '../../../support/cli/run-svc.ts'
import { openTerminal } from '../../../support/cli/terminal.ts'
import { createFolder } from '../workbench/support/test-workbench.ts'

t.test('svc attach shows the workbench in the terminal, a pane finds its own id, and leaving ends nothing', async (t) => {
  const home = createFolder(t)
  const terminal = await openTerminal(t, { HOME: home, XDG_CONFIG_HOME: home, SHELL: '/bin/sh', PS1: '$ ' })
  if (!terminal) return
  t.teardown(async () => {
    await runSvc(['workbench', 'stop', '--kill'], { home })
  })
  await terminal.typeLine('svc workspace new --title Build --command "echo built-$((40+2))"')
  await terminal.waitFor(/ws_\w+ {2}pn_\w+ {2}Build/)
  await terminal.typeLine('svc attach 2')
  await terminal.waitFor(/built-42/)
  t.match(await terminal.readScreen(), /1 home +2\* Build/, 'the status line shows both, with a mark at the one in front')
  await terminal.typeLine('svc identify; svc attach')
  const shown = await terminal.waitFor(/is a pane of the workbench already/)
  const [, workspace, pane] = /in front {2}(ws_\w+) {2}(pn_\w+)/.exec(shown) ?? []
  t.match(shown, `caller  ${workspace}  ${pane}`)
  await terminal.typeLine('svc workspace focus 1; echo in-$((1+1))')
  // The other workspace is in front now, so the screen shows nothing that was typed here.
  await terminal.waitFor(/^(?![\s\S]*identify)[\s\S]*1\* home +2 Build/)
  await terminal.pressKeys('C-b', 'd')
  await terminal.waitFor(/\[detached/)
  await terminal.typeLine('svc pane read --workspace 2')
  await terminal.waitFor(/in-2/)
  t.pass('what ran there runs on')
})
