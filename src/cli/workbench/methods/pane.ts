/** The methods `pane.…`. Closing must not move the focus: the focused pane is closed only with `force`. */
import type { Family, Handlers } from './handler.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Workbench } from '../workbench.ts'
import { getPane, resolvePane, resolveWorkspace } from '../workbench.ts'

export function createPaneMethods(bench: Workbench): Handlers<Family<'pane'>> {
  const { engine } = bench
  return {
    'pane.list': async ({ params, caller }) => {
      if (params.all === true) return { panes: (await engine.listWorkspaces()).flatMap((workspace) => workspace.panes) }
      return { panes: (await resolveWorkspace(bench, { caller }, params.workspaceId)).panes }
    },

    'pane.split': async ({ params, caller }) => {
      const { direction, size, cwd, command } = params
      const from = await resolvePane(bench, { caller }, params)
      const id = await engine.splitPane({
        paneId: from.id,
        direction,
        ...(size === undefined ? {} : { size }),
        ...(cwd === undefined ? {} : { cwd }),
      })
      if (command !== undefined) await engine.sendText(id, `${command}\n`)
      return { pane: await getPane(bench, id) }
    },

    'pane.close': async ({ params }) => {
      const pane = await getPane(bench, params.paneId)
      if (pane.focused && params.force !== true) {
        throw new WorkbenchError('focus_conflict', 'this pane has the keys; closing it would give them to another one', {
          hint: '--force closes it',
        })
      }
      await engine.closePane(pane.id)
      return { ok: true }
    },

    'pane.resize': async ({ params, caller }) => {
      const { cols, rows } = params
      if (cols === undefined && rows === undefined)
        throw new WorkbenchError('invalid_params', 'pane.resize: name cols, rows or both')
      const pane = await resolvePane(bench, { caller }, params)
      await engine.resizePane(pane.id, { ...(cols === undefined ? {} : { cols }), ...(rows === undefined ? {} : { rows }) })
      return { pane: await getPane(bench, pane.id) }
    },

    'pane.send': async ({ params, caller }) => {
      await engine.sendText((await resolvePane(bench, { caller }, params)).id, params.text)
      return { ok: true }
    },

    'pane.key': async ({ params, caller }) => {
      await engine.sendKey((await resolvePane(bench, { caller }, params)).id, params.key)
      return { ok: true }
    },

    'pane.read': async ({ params, caller }) => {
      const pane = await resolvePane(bench, { caller }, params)
      return { pane, text: await engine.capturePane(pane.id, params.lines ?? 0) }
    },

    'pane.focus': async ({ params }, intent) => {
      if ('paneId' in params) await engine.focusPane(intent, params.paneId)
      else await engine.focusDirection(intent, params.direction)
      return { focused: await engine.getFocus() }
    },

    'pane.last': async (_call, intent) => {
      await engine.focusLastPane(intent)
      return { focused: await engine.getFocus() }
    },
  }
}
