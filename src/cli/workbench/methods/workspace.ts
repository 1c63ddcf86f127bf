/** The methods `workspace.…`. Closing must not move the focus: the workspace in front is closed only with `force`. */
import type { Family, Handlers } from './handler.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { Workbench } from '../workbench.ts'
import { getPane, resolveWorkspace, toWorkspace, getWorkspace } from '../workbench.ts'

export function createWorkspaceMethods(bench: Workbench): Handlers<Family<'workspace'>> {
  const { engine } = bench
  return {
    'workspace.list': async () => ({ workspaces: (await engine.listWorkspaces()).map((state) => toWorkspace(bench, state)) }),

    'workspace.create': async ({ params }) => {
      const { title, cwd, command, env } = params
      const focus = await engine.createWorkspace({ title: title ?? 'workspace', cwd: cwd ?? bench.settings.home, env: env ?? {} })
      if (focus.workspaceId === null || focus.paneId === null) throw new TypeError('the engine made a workspace without ids')
      if (command !== undefined) await engine.sendText(focus.paneId, `${command}\n`)
      return {
        workspace: toWorkspace(bench, await getWorkspace(bench, focus.workspaceId)),
        pane: await getPane(bench, focus.paneId),
      }
    },

    'workspace.rename': async ({ params }) => {
      await engine.renameWorkspace(params.id, params.title)
      return { workspace: toWorkspace(bench, await getWorkspace(bench, params.id)) }
    },

    'workspace.close': async ({ params }) => {
      const state = await getWorkspace(bench, params.id)
      if (state.focused && params.force !== true) {
        throw new WorkbenchError('focus_conflict', 'this workspace is in front; closing it would show another one', {
          hint: '--force closes it',
        })
      }
      await bench.openPages()?.closeWorkspacePages(params.id)
      await engine.closeWorkspace(params.id)
      return { ok: true }
    },

    'workspace.show': async ({ params, caller }) => {
      const state = await resolveWorkspace(bench, { caller }, params.id)
      const pages = bench.openPages()?.list() ?? []
      return {
        workspace: toWorkspace(bench, state),
        panes: state.panes,
        pages: pages.filter((page) => page.workspaceId === state.id),
      }
    },

    'workspace.focus': async ({ params }, intent) => {
      await engine.focusWorkspace(intent, params.id)
      return { focused: await engine.getFocus() }
    },

    'workspace.next': async (_call, intent) => {
      await engine.stepWorkspace(intent, 'next')
      return { focused: await engine.getFocus() }
    },

    'workspace.previous': async (_call, intent) => {
      await engine.stepWorkspace(intent, 'previous')
      return { focused: await engine.getFocus() }
    },

    'workspace.last': async (_call, intent) => {
      await engine.stepWorkspace(intent, 'last')
      return { focused: await engine.getFocus() }
    },
  }
}
