/** The methods `pane.…`. Closing counts as quiet: a pane that has the keys is closed only with `force`. */
import type { Family, Handlers } from '../handler.ts'
import { WorkbenchError } from '../protocol.ts'
import type { Workbench } from '../workbench.ts'
import { paneById, targetPane, targetWorkspace } from '../workbench.ts'

export function paneMethods(bench: Workbench): Handlers<Family<'pane'>> {
  const { engine } = bench
  return {
    'pane.list': async ({ params, caller }) => {
      if (params.all === true) return { panes: (await engine.list()).flatMap((workspace) => workspace.panes) }
      return { panes: (await targetWorkspace(bench, { caller }, params.workspaceId)).panes }
    },

    'pane.split': async ({ params, caller }) => {
      const { direction, size, cwd, command } = params
      const from = await targetPane(bench, { caller }, params)
      const id = await engine.split({
        paneId: from.id,
        direction,
        ...(size === undefined ? {} : { size }),
        ...(cwd === undefined ? {} : { cwd }),
      })
      if (command !== undefined) await engine.send(id, `${command}\n`)
      return { pane: await paneById(bench, id) }
    },

    'pane.close': async ({ params }) => {
      const pane = await paneById(bench, params.paneId)
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
      const pane = await targetPane(bench, { caller }, params)
      await engine.resizePane(pane.id, { ...(cols === undefined ? {} : { cols }), ...(rows === undefined ? {} : { rows }) })
      return { pane: await paneById(bench, pane.id) }
    },

    'pane.send': async ({ params, caller }) => {
      await engine.send((await targetPane(bench, { caller }, params)).id, params.text)
      return { ok: true }
    },

    'pane.key': async ({ params, caller }) => {
      await engine.key((await targetPane(bench, { caller }, params)).id, params.key)
      return { ok: true }
    },

    'pane.read': async ({ params, caller }) => {
      const pane = await targetPane(bench, { caller }, params)
      return { pane, text: await engine.capture(pane.id, params.lines ?? 0) }
    },

    'pane.focus': async ({ params }, intent) => {
      if ('paneId' in params) await engine.focusPane(intent, params.paneId)
      else await engine.focusDirection(intent, params.direction)
      return { focused: await engine.focused() }
    },

    'pane.last': async (_call, intent) => {
      await engine.lastPane(intent)
      return { focused: await engine.focused() }
    },
  }
}
