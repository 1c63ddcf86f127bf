/** `svc attach` in a real terminal, with a real workbench behind it. */
import t from 'tap'
import { svc } from '../../support/run-svc.ts'
import { openTerminal } from '../../support/terminal.ts'
import { folder } from '../workbench/support/bench.ts'

t.test('svc attach shows the workbench in the terminal, a pane knows itself, and leaving ends nothing', async (t) => {
  const home = folder(t)
  const terminal = await openTerminal(t, { HOME: home, XDG_CONFIG_HOME: home, SHELL: '/bin/sh', PS1: '$ ' })
  if (!terminal) return
  t.teardown(async () => {
    await svc(['workbench', 'stop', '--kill'], { home })
  })
  await terminal.type('svc workspace new --title Build --command "echo built-$((40+2))"')
  await terminal.until(/ws_\w+ {2}pn_\w+ {2}Build/)
  await terminal.type('svc attach 2')
  await terminal.until(/built-42/)
  t.match(await terminal.screen(), /1 home +2 Build/, 'the status line shows both')
  await terminal.type('svc identify; svc attach')
  const shown = await terminal.until(/is a pane of the workbench already/)
  const [, workspace, pane] = /in front {2}(ws_\w+) {2}(pn_\w+)/.exec(shown) ?? []
  t.match(shown, `caller  ${workspace}  ${pane}`)
  await terminal.type('svc workspace focus 1; echo in-$((1+1))')
  // The other workspace is in front now: nothing of what was typed here is on the screen.
  await terminal.until(/^(?![\s\S]*identify)[\s\S]*1 home +2 Build/)
  await terminal.press('C-b', 'd')
  await terminal.until(/\[detached/)
  await terminal.type('svc pane read --workspace 2')
  await terminal.until(/in-2/)
  t.pass('what ran there runs on')
})
